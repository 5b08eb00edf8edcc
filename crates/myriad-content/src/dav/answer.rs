//! Common parts of all methods: blocking work, its response, and `Depth`.

use bytes::Bytes;
use myriad_exchange::answers::redirect;
use myriad_exchange::exchange::{Answer, Exchange, Request, Step};
use myriad_http::uri::{Escape, escape};
use myriad_http::{Known, Method};
use myriad_net::ResponseBody;

use super::failure::{Done, Failure};

/// Runs blocking work on the blocking thread pool, then answers. Cached data about the changed paths is discarded in
/// any case.
pub(super) fn wait(changed: Vec<Vec<u8>>, work: impl FnOnce() -> Done + Send + 'static) -> Step {
    Step::wait(async move |exchange| {
        let done = blocking(work).await;
        answered(exchange, changed, done)
    })
}

/// Runs blocking work on the blocking thread pool.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Done<T> + Send + 'static) -> Done<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Failure::new(500, "the file operation was aborted")))
}

/// Returns the response, and discards cached data about the changed paths.
pub(super) fn answered(exchange: &mut Exchange, changed: Vec<Vec<u8>>, done: Done) -> Step {
    for path in changed {
        exchange.request.site.worker.files.forget_below(&path);
    }
    match done {
        Ok(status) => Step::Answer(answer(exchange, status)),
        Err(failure) => failure.answer(&mut exchange.request),
    }
}

/// A 201 contains the URL of the new resource, except after COPY and MOVE, whose client has specified it.
fn answer(exchange: &Exchange, status: u16) -> Answer {
    let request = &exchange.request;
    if status == 204 {
        return Answer::new(status, ResponseBody::None);
    }
    let mut answer = Answer::new(status, ResponseBody::Full(Bytes::new()));
    if matches!(request.received.head.method(), Method::Put | Method::Mkcol) {
        let mut url = Vec::new();
        escape(&request.route.uri, Escape::Uri, &mut url);
        answer.field(b"Location", &redirect::location(request, &url));
    }
    answer
}

/// Field `Depth` (RFC 4918 section 10.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Zero,
    One,
    Infinity,
}

/// Parses `Depth`; `usual` is the default.
pub(super) fn depth(request: &Request, usual: Depth) -> Done<Depth> {
    match request.received.head.known(Known::Depth) {
        None => Ok(usual),
        Some(b"0") => Ok(Depth::Zero),
        Some(b"1") => Ok(Depth::One),
        Some(value) if value.eq_ignore_ascii_case(b"infinity") => Ok(Depth::Infinity),
        Some(value) => {
            let value = String::from_utf8_lossy(value);
            Err(Failure::new(400, format!("client sent invalid \"Depth\" header: \"{value}\"")))
        }
    }
}
