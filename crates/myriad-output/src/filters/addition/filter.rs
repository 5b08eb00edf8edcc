//! Addition of other responses before and after the bodies of a location.

use myriad_conf::settings::Settings;
use myriad_http::Method;
use myriad_http::media_types::TypeSet;
use myriad_net::ResponseBody;

use super::body::{AdditionBody, AdditionPart};
use super::settings::AdditionSettings;
use crate::filters::wrap::{begin_text, is_packed};
use myriad_exchange::exchange::{ContentResponse, Exchange, Filter, pull_body};
use myriad_exchange::runtime::SettingsCompiler;
use myriad_exchange::subrequest;

/// Compiled `add_before_body`, `add_after_body` and `addition_types` of a location.
struct Addition {
    before: Box<[u8]>,
    after: Box<[u8]>,
    types: TypeSet,
}

/// Compiles `add_before_body`, `add_after_body` and `addition_types` of a configuration level; `None` if both paths are
/// empty.
pub(crate) fn compiled(
    _: &mut dyn SettingsCompiler,
    settings: &Settings,
) -> Option<Box<dyn Filter<Exchange>>> {
    let settings = settings.feature::<AdditionSettings>();
    if settings.before.is_empty() && settings.after.is_empty() {
        return None;
    }
    let (before, after) = (settings.before.as_slice().into(), settings.after.as_slice().into());
    Some(Box::new(Addition { before, after, types: TypeSet::new(&settings.types) }))
}

impl Filter<Exchange> for Addition {
    fn name(&self) -> &'static str {
        "addition"
    }

    fn changes(&self, media_type: &[u8]) -> bool {
        !media_type.is_empty() && self.types.contains(media_type)
    }

    /// Returns false, which forbids the shortcut (reuse of an earlier request's routing): the subrequests depend on the
    /// rules as evaluated for this request.
    fn allows_shortcut(&self) -> bool {
        false
    }

    /// Adds the responses to an uncompressed 200 with a listed media type. Responses of subrequests are excluded, so
    /// that pages that add each other do not recurse.
    fn apply(&self, exchange: &mut Exchange, answer: &mut ContentResponse) {
        let is_page = answer.status == 200 && !exchange.request.is_subrequest();
        if !is_page || is_packed(answer) || !self.changes(answer.bare_media_type()) {
            return;
        }
        begin_text(answer, exchange.request.place().files.etag, true);
        answer.without(&[b"accept-ranges"]);
        answer.length = None;
        answer.ranges = false;
        answer.compressible = true;
        let body = std::mem::replace(&mut answer.body, ResponseBody::None);
        let mut parts = Vec::new();
        if exchange.request.received.head.method() != Method::Head {
            parts.extend(part(exchange, &self.before));
            parts.push(AdditionPart::Body(pull_body(body)));
            parts.extend(part(exchange, &self.after));
        }
        answer.body = ResponseBody::Stream(Box::pin(AdditionBody::new(parts)), None);
    }
}

/// Starts the subrequest for a path; `None` if the path is empty or the subrequest cannot be started.
fn part(exchange: &mut Exchange, path: &[u8]) -> Option<AdditionPart> {
    if path.is_empty() {
        return None;
    }
    subrequest::begin(exchange, path, b"")
        .ok()
        .map(|child| AdditionPart::Subrequest(subrequest::execute(child)))
}
