//! SSI filter: execution of the commands in responses.

use myriad_conf::settings::Settings;
use myriad_http::Method;
use myriad_http::body::{BoxBody, EmptyBody};
use myriad_http::media_types::TypeSet;
use myriad_net::ResponseBody;

use super::body::SsiBody;
use super::rules::Ssi;
use super::settings::SsiSettings;
use crate::filters::wrap::{begin_text, is_bodiless, is_packed};
use myriad_exchange::exchange::{ContentResponse, Exchange, Filter, pull_body};
use myriad_exchange::runtime::SettingsCompiler;

/// Compiles `ssi*` of a configuration level; `None` if `ssi` is off.
pub(crate) fn compiled(
    _: &mut dyn SettingsCompiler,
    settings: &Settings,
) -> Option<Box<dyn Filter<Exchange>>> {
    let settings = settings.feature::<SsiSettings>();
    let made = settings.on.then(|| Ssi {
        page: myriad_script::ssi::SsiRules {
            value_length: usize::try_from(settings.value_length).unwrap_or(usize::MAX),
            silent_errors: settings.silent_errors,
        },
        last_modified: settings.last_modified,
        types: TypeSet::new(&settings.types),
    })?;
    Some(Box::new(made))
}

impl Filter<Exchange> for Ssi {
    fn name(&self) -> &'static str {
        "ssi"
    }

    fn changes(&self, media_type: &[u8]) -> bool {
        self.types.contains(media_type)
    }

    fn reads_by_name(&self) -> bool {
        true
    }

    /// Returns false, which forbids the shortcut (reuse of an earlier request's routing): the variables that a page
    /// reads are not known before it is sent.
    fn allows_shortcut(&self) -> bool {
        false
    }

    fn apply(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        let empty = answer.known_length() == Some(0);
        if is_packed(answer) || is_bodiless(answer) || empty || !self.types.contains(answer.bare_media_type())
        {
            return;
        }
        begin_text(answer, exchange.request.place().files.etag, self.last_modified);
        answer.without(&[b"accept-ranges"]);
        answer.length = None;
        answer.ranges = false;
        answer.compressible = true;
        answer.postponed = true;
        let body = std::mem::replace(&mut answer.body, ResponseBody::None);
        let body: BoxBody = if exchange.request.received.head.method() == Method::Head {
            Box::pin(EmptyBody)
        } else {
            Box::pin(SsiBody::new(exchange.body_companion(), self.page, pull_body(body)))
        };
        answer.body = ResponseBody::Stream(body, None);
    }
}
