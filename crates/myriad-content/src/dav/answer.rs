//! Common parts of the WebDAV methods: blocking work, the response after a change, and `Depth`.

use bytes::Bytes;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep, Request};
use myriad_exchange::responses::redirect;
use myriad_http::uri::{EscapeKind, escape};
use myriad_http::{Known, Method};
use myriad_net::ResponseBody;

use super::failure::{DavFailure, DavResult};

/// Runs `work` on the blocking thread pool, discards cached file data at and below the `changed` paths whether `work`
/// succeeds or fails, and responds with its status.
pub(super) fn run_and_respond(
    changed: Vec<Vec<u8>>,
    work: impl FnOnce() -> DavResult + Send + 'static,
) -> PhaseStep {
    PhaseStep::wait(async move |exchange| {
        let done = blocking(work).await;
        respond_after_change(exchange, changed, done)
    })
}

/// Runs `work` on the blocking thread pool. Returns 500 if it panics.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> DavResult<T> + Send + 'static,
) -> DavResult<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(DavFailure::new(500, "the file operation was aborted")))
}

/// Returns the response for the result of a change, and discards cached file data at and below the `changed` paths.
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

/// Returns the response to a successful change, without content. After PUT and MKCOL, a 201 has the URL of the new
/// resource in `Location`; after COPY and MOVE the client knows it.
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

/// Value of `Depth` (RFC 4918 section 10.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    Zero,
    One,
    Infinity,
}

/// Parses `Depth`; `usual` is its default. Returns 400 for an invalid value.
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
