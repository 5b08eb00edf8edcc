//! Common parts of all methods: blocking work, its response, and `Depth`.

use bytes::Bytes;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep, Request};
use myriad_exchange::responses::redirect;
use myriad_http::uri::{EscapeKind, escape};
use myriad_http::{Known, Method};
use myriad_net::ResponseBody;

use super::failure::{DavFailure, DavResult};

/// Runs blocking work on the blocking thread pool, then answers. Cached data about the changed paths is discarded in
/// any case.
pub(super) fn run_and_respond(
    changed: Vec<Vec<u8>>,
    work: impl FnOnce() -> DavResult + Send + 'static,
) -> PhaseStep {
    PhaseStep::wait(async move |exchange| {
        let done = blocking(work).await;
        respond_after_change(exchange, changed, done)
    })
}

/// Runs blocking work on the blocking thread pool.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> DavResult<T> + Send + 'static,
) -> DavResult<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(DavFailure::new(500, "the file operation was aborted")))
}

/// Returns the response, and discards cached data about the changed paths.
pub(super) fn respond_after_change(
    exchange: &mut Exchange,
    changed: Vec<Vec<u8>>,
    done: DavResult,
) -> PhaseStep {
    for path in changed {
        exchange.request.site.worker.files.forget_below(&path);
    }
    match done {
        Ok(status) => PhaseStep::Answer(success_response(exchange, status)),
        Err(failure) => failure.into_step(&mut exchange.request),
    }
}

/// A 201 contains the URL of the new resource, except after COPY and MOVE, whose client has specified it.
fn success_response(exchange: &Exchange, status: u16) -> ContentResponse {
    let request = &exchange.request;
    if status == 204 {
        return ContentResponse::new(status, ResponseBody::None);
    }
    let mut answer = ContentResponse::new(status, ResponseBody::Full(Bytes::new()));
    if matches!(request.received.head.method(), Method::Put | Method::Mkcol) {
        let mut url = Vec::new();
        escape(&request.route.uri, EscapeKind::Uri, &mut url);
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
pub(super) fn depth(request: &Request, usual: Depth) -> DavResult<Depth> {
    match request.received.head.known(Known::Depth) {
        None => Ok(usual),
        Some(b"0") => Ok(Depth::Zero),
        Some(b"1") => Ok(Depth::One),
        Some(value) if value.eq_ignore_ascii_case(b"infinity") => Ok(Depth::Infinity),
        Some(value) => {
            let value = String::from_utf8_lossy(value);
            Err(DavFailure::new(400, format!("client sent invalid \"Depth\" header: \"{value}\"")))
        }
    }
}
