//! Start and execution of subrequests.

use std::future::Future;
use std::pin::Pin;

use myriad_http::uri::unescape;
use myriad_log::LogLevel;

use super::child::Child;
use super::response::SubrequestResponse;
use crate::exchange::{ContentResponse, Exchange, ResponseSource, SubrequestStart, TooMany};

/// Future of a subrequest's response.
pub type SubrequestFuture = Pin<Box<dyn Future<Output = SubrequestResponse>>>;

/// Creates a subrequest of `parent`. If subrequests are too numerous or nested too deeply, returns an error and logs
/// it.
pub fn begin(parent: &mut Exchange, uri: &[u8], args: &[u8]) -> Result<Box<Exchange>, TooMany> {
    let child = parent.child(uri, args);
    if child.is_err() {
        let uri = String::from_utf8_lossy(uri);
        parent.request.log(LogLevel::Error, format_args!("subrequests cycle while processing \"{uri}\""));
    }
    child
}

/// Parses a URI on this server. Returns the decoded path and the arguments; `None` if it is not a path, or if the path
/// has a segment `..` or contains NUL.
pub fn target(uri: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let split = uri.iter().position(|byte| *byte == b'?');
    let (path, args) = split.map_or((uri, &b""[..]), |at| (&uri[..at], &uri[at + 1..]));
    let mut decoded = Vec::with_capacity(path.len());
    unescape(path, &mut decoded);
    let climbs = decoded.contains(&0) || decoded.split(|byte| *byte == b'/').any(|part| part == b"..");
    (decoded.starts_with(b"/") && !climbs).then_some((decoded, args))
}

/// Runs a subrequest, starting at the server's rewrite rules, until its response is available.
///
/// The future is boxed, because the handler may run further subrequests.
pub fn execute(child: Box<Exchange>) -> SubrequestFuture {
    run(child, SubrequestStart::Server)
}

/// Runs a subrequest whose location is already set, starting at its content handler.
pub fn execute_in_place(child: Box<Exchange>) -> SubrequestFuture {
    run(child, SubrequestStart::Place)
}

fn run(child: Box<Exchange>, start: SubrequestStart) -> SubrequestFuture {
    Box::pin(async move {
        let mut child = Child::new(child);
        let exchange = &mut *child.exchange;
        let engine = exchange.request.site.engine;
        let mut answer = engine.answer(exchange, start).await;
        note(exchange, &mut answer);
        SubrequestResponse::new(answer, child)
    })
}

/// Sets the status that an `error_page` has determined, if any, on the response of a subrequest, and records the
/// response for variables and logs.
pub(super) fn note(exchange: &mut Exchange, answer: &mut ContentResponse) {
    if let Some(status) = exchange.request.errors.forced_status {
        answer.status = status;
    }
    exchange.request.outcome.head.status = answer.status;
    exchange.request.outcome.head.fields = lines(answer);
}

/// Returns the header fields of a response as lines, for `$sent_http_*`.
fn lines(answer: &ContentResponse) -> Vec<u8> {
    let mut lines = answer.lines.clone();
    if let ResponseSource::Page(page) = &answer.source {
        lines.extend_from_slice(page.meta().lines());
    } else if let Some(media_type) = &answer.media_type {
        for part in [b"Content-Type: ", &media_type[..], b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn paths_are_decoded_and_may_not_climb() {
        assert_eq!(target(b"/a%20b?c=%20"), Some((b"/a b".to_vec(), &b"c=%20"[..])));
        assert_eq!(target(b"/a%3fb"), Some((b"/a?b".to_vec(), &b""[..])));
        for uri in [&b""[..], b"?a", b"a", b"/..", b"/../a", b"/a/%2e%2e/b", b"/a%00"] {
            assert_eq!(target(uri), None, "{}", uri.escape_ascii());
        }
        assert!(target(b"/a..b/...").is_some());
    }
}
