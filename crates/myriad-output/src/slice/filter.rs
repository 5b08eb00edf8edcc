//! `slice` filter, and assembly of the response from slices.

use myriad_conf::settings::Settings;
use myriad_http::Method;
use myriad_log::LogLevel;
use myriad_net::ResponseBody;

use super::body::{SliceBody, SliceInProgress, WholeRepresentation};
use super::directives::SliceSettings;
use super::part::part;
use super::requested_range::{RequestedRange, requested_range};
use crate::error_answer::error_answer;
use myriad_exchange::exchange::{ContentResponse, Exchange, Filter, pull_body};
use myriad_exchange::runtime::SettingsCompiler;

/// Compiled `slice` of a location.
struct Slicing {
    /// Size of each slice except the last, in bytes; above 0.
    size: u64,
}

/// Compiles `slice` of a configuration level; `None` if it is off.
pub(crate) fn compiled(
    _: &mut dyn SettingsCompiler,
    settings: &Settings,
) -> Option<Box<dyn Filter<Exchange>>> {
    let size = settings.feature::<SliceSettings>().size;
    (size > 0).then(|| Box::new(Slicing { size }) as _)
}

impl Filter<Exchange> for Slicing {
    fn name(&self) -> &'static str {
        "slice"
    }

    /// Returns false, because the joined slices are the unchanged representation.
    fn changes(&self, _: &[u8]) -> bool {
        false
    }

    fn changes_bodies(&self) -> bool {
        false
    }

    /// Returns false, which forbids the shortcut (reuse of an earlier request's routing): a stored slice is not the
    /// complete response.
    fn allows_shortcut(&self) -> bool {
        false
    }

    fn piece_size(&self) -> u64 {
        self.size
    }
}

/// Converts a 206 with the first slice to the response for the client, whose body requests the further slices. Does
/// nothing for other statuses and for subrequests. If the slice is invalid, logs the reason and marks the response so
/// that the connection is closed.
pub(crate) fn assemble(exchange: &mut Exchange, answer: &mut ContentResponse) {
    let Some(slice) = exchange.request.cache.slice.get() else { return };
    if answer.status != 206 || exchange.request.is_subrequest() {
        return;
    }
    let part = match part(answer, slice, true) {
        Ok(part) => part,
        Err(reason) => {
            exchange.request.log(LogLevel::Error, format_args!("{reason}"));
            answer.dropped = true;
            return;
        }
    };
    answer.detach(exchange.request.place().files.etag);
    answer.without(&[b"content-range", b"accept-ranges"]);
    answer.status = 200;
    answer.reason = None;
    answer.length = None;
    answer.ranges = false;
    answer.conditions_evaluated = true;
    answer.compressible = false;
    let first = std::mem::replace(&mut answer.body, ResponseBody::None);
    let wanted = match requested_range(&exchange.request, answer, part.complete) {
        RequestedRange::Bytes(range) => range,
        RequestedRange::Nothing(status) => return refuse(exchange, answer, status, part.complete),
    };
    if wanted == (0..part.complete) && answer.status == 200 {
        answer.field(b"Accept-Ranges", b"bytes");
    }
    let length = wanted.end - wanted.start;
    if exchange.request.received.head.method() == Method::Head {
        answer.length = Some(length);
        return;
    }
    let whole = WholeRepresentation { size: slice.size, complete: part.complete, tag: part.tag };
    let first = SliceInProgress::new(pull_body(first), part.range.range);
    let body = SliceBody::new(exchange.body_companion(), whole, wanted, first);
    answer.body = ResponseBody::Stream(Box::pin(body), Some(length));
    answer.postponed = true;
}

/// Converts the response to a 304, 412 or 416 without the representation.
fn refuse(exchange: &Exchange, answer: &mut ContentResponse, status: u16, complete: u64) {
    if status == 304 {
        answer.status = 304;
        return;
    }
    *answer = error_answer(exchange.request.place(), status);
    if status == 416 {
        answer.field(b"Content-Range", format!("bytes */{complete}").as_bytes());
    }
}
