//! `add_trailer`: fields behind the last chunk, whose values may tell of the whole body.

use myriad_http::{Method, Version};
use myriad_net::ResponseBody;

use super::Answer;
use super::expires::is_decorated;
use super::filters::pulled;
use crate::exchange::{Exchange, Request, scratch};
use crate::runtime::Place;

/// Whether the trailers of the place are to follow the answer, which is chunked for them whatever its length. The head
/// is not written yet.
pub(crate) fn expect(request: &Request, place: &Place, answer: &mut Answer) -> bool {
    let decorated = is_decorated(answer.status);
    let any = place.headers.trailers.iter().any(|field| field.is_added(decorated));
    let bodiless = request.head.method() == Method::Head || matches!(answer.status, 100..=199 | 204 | 304);
    if !any || bodiless || request.head.version() == Version::Http10 || !place.chunked {
        return false;
    }
    let body = std::mem::replace(&mut answer.body, ResponseBody::None);
    answer.body = ResponseBody::Stream(pulled(body), None);
    answer.length = None;
    true
}

/// Appends them, once the body is over.
pub(crate) fn write(exchange: &mut Box<Exchange>, out: &mut Vec<u8>) {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let place = site.runtime.place(exchange.request.place);
    let decorated = is_decorated(exchange.request.answered.status);
    for field in place.headers.trailers.iter().filter(|field| field.is_added(decorated)) {
        let Exchange { frame, request } = &mut **exchange;
        scratch::with_buffer(|line| {
            line.extend_from_slice(&field.name);
            line.extend_from_slice(b": ");
            let start = line.len();
            // One that cannot be evaluated is left out: the answer itself is sound.
            if field.value.eval(request, frame, line).is_ok() && line.len() > start {
                line.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
                line.extend_from_slice(b"\r\n");
                // Each may read those before it (`$sent_trailer_*`).
                request.answered.trailers.extend_from_slice(line);
            }
        });
    }
    out.extend_from_slice(&exchange.request.answered.trailers);
}
