//! Directive `empty_gif`, and its content handler.

use bytes::Bytes;
use myriad_conf::registry::{Contexts, Directive, Set, exactly};
use myriad_net::ResponseBody;

use super::image::IMAGE;
use myriad_exchange::exchange::{ContentResponse, Exchange, GET_HEAD, Handler, PhaseStep};
use myriad_exchange::feature::{PlannedHandler, plan_handler};
use myriad_exchange::runtime::SettingsCompiler;

/// Value of `Last-Modified` of the empty GIF, as in nginx.
const MODIFIED: &[u8] = b"Mon, 28 Sep 1970 06:00:00 GMT";

pub(super) static ROWS: &[Directive] = &[Directive::new(
    "empty_gif",
    Contexts::LOCATION,
    exactly(0),
    Set::Settings(|settings, _| {
        settings.handler = Some(plan_handler(EmptyGif));
        Ok(())
    }),
    "Serves a transparent GIF of one pixel.",
)];

/// Content handler of `empty_gif`.
#[derive(Debug)]
struct EmptyGif;

impl PlannedHandler for EmptyGif {
    fn make(&self, _: &mut dyn SettingsCompiler, _: &[u8]) -> Option<Box<dyn Handler>> {
        Some(Box::new(Self))
    }
}

impl Handler for EmptyGif {
    fn begin(&self, exchange: &mut Exchange) -> PhaseStep {
        if !GET_HEAD.contains(exchange.request.received.head.method()) {
            return PhaseStep::method_not_allowed(&mut exchange.request, GET_HEAD);
        }
        let mut answer = ContentResponse::new(200, ResponseBody::Full(Bytes::from_static(IMAGE)));
        answer.media_type = Some(b"image/gif"[..].into());
        answer.field(b"Last-Modified", MODIFIED);
        PhaseStep::Answer(answer)
    }
}
