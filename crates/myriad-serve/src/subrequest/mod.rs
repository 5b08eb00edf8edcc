//! Subrequests: exchanges within an exchange, whose answers go to whoever asked and never to the client by themselves.
//!
//! ```text
//! parent --child(uri, args)--> server rewrite -> location -> rewrite -> content -> body filters
//!    ^                                                                                  |
//!    '------------------------ Subanswer: head, and a body to be pulled <---------------'
//! ```
//!
//! A child runs the phases of a request of its own, but for access (its parent was judged), conditions, ranges and
//! `add_header`. It lives in the future or the body that its parent waits for, so it ends with its parent.

mod body;

use std::future::Future;
use std::pin::Pin;

use myriad_http::body::BoxBody;
use myriad_http::uri::unescape;
use myriad_log::Level;
use myriad_net::ResponseBody;

use crate::access_log;
use crate::content;
use crate::exchange::{Exchange, TooMany};
use crate::output::{self, Answer, Source, lines_named};
use crate::phases::{self, Decision};

/// An answer under way.
pub(crate) type Asked = Pin<Box<dyn Future<Output = Subanswer>>>;

/// Begins a subrequest of `parent`; the error log hears of one too many.
pub(crate) fn begin(parent: &mut Exchange, uri: &[u8], args: &[u8]) -> Result<Box<Exchange>, TooMany> {
    let child = parent.child(uri, args);
    if child.is_err() {
        let uri = String::from_utf8_lossy(uri);
        parent.request.log(Level::Error, format_args!("subrequests cycle while processing \"{uri}\""));
    }
    child
}

/// The path, decoded, and the arguments that an URI on this server names. None where it climbs or is no path.
pub(crate) fn target(uri: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let split = uri.iter().position(|byte| *byte == b'?');
    let (path, args) = split.map_or((uri, &b""[..]), |at| (&uri[..at], &uri[at + 1..]));
    let mut decoded = Vec::with_capacity(path.len());
    unescape(path, &mut decoded);
    let climbs = decoded.contains(&0) || decoded.split(|byte| *byte == b'/').any(|part| part == b"..");
    (decoded.starts_with(b"/") && !climbs).then_some((decoded, args))
}

/// Runs a subrequest to its answer.
///
/// The future is boxed: what answers may ask subrequests of its own.
pub(crate) fn ask(child: Box<Exchange>) -> Asked {
    run(child, phases::begin_subrequest)
}

/// As [`ask`], for one that is where it belongs already, at its content.
pub(crate) fn ask_in_place(child: Box<Exchange>) -> Asked {
    run(child, phases::begin_in_place)
}

fn run(child: Box<Exchange>, begin: fn(&mut Exchange) -> Decision) -> Asked {
    Box::pin(async move {
        let mut child = Child { exchange: child, bytes: 0, whole: false };
        let exchange = &mut *child.exchange;
        let mut answer = match begin(exchange) {
            Decision::Ready(answer) => answer,
            Decision::Wait(work) => content::wait(exchange, work).await,
        };
        if let Some(status) = exchange.request.forced_status {
            answer.status = status;
        }
        exchange.request.answered.status = answer.status;
        exchange.request.answered.fields = lines(&answer);
        Subanswer { answer, child }
    })
}

/// The answer's fields as text (`$sent_http_*`).
fn lines(answer: &Answer) -> Vec<u8> {
    let mut lines = answer.lines.clone();
    if let Source::Page(page) = &answer.source {
        lines.extend_from_slice(page.meta().lines());
    } else if let Some(media_type) = &answer.media_type {
        for part in [b"Content-Type: ", &media_type[..], b"\r\n"] {
            lines.extend_from_slice(part);
        }
    }
    lines
}

/// What a subrequest came to.
pub(crate) struct Subanswer {
    /// The answer, as the content gave it.
    pub answer: Answer,
    child: Child,
}

impl Subanswer {
    /// The subrequest itself, whose variables may be read.
    pub(crate) fn exchange(&mut self) -> &mut Exchange {
        &mut self.child.exchange
    }

    /// The body, as the filters of its place leave it.
    pub(crate) fn into_body(mut self) -> BoxBody {
        let body = output::body_of_subrequest(&mut self.child.exchange, self.answer);
        Box::pin(body::ChildBody::new(body, self.child))
    }

    /// The body as the content gave it.
    pub(crate) fn into_plain_body(mut self) -> BoxBody {
        let body = std::mem::replace(&mut self.answer.body, ResponseBody::None);
        Box::pin(body::ChildBody::new(output::pulled(body), self.child))
    }

    /// The values of all fields of the answer with that name.
    pub(crate) fn fields(&self, name: &[u8]) -> Vec<Vec<u8>> {
        lines_named(&self.child.exchange.request.answered.fields, name).map(<[u8]>::to_vec).collect()
    }
}

/// A subrequest, and what of its answer was taken; logged when it is over (`log_subrequest`).
struct Child {
    exchange: Box<Exchange>,
    bytes: u64,
    whole: bool,
}

impl Drop for Child {
    fn drop(&mut self) {
        let request = &mut self.exchange.request;
        request.count_cache_status();
        if !request.place().log_subrequest {
            return;
        }
        if request.answered.status == 0 {
            request.answered.status = 499;
        }
        request.sent.body_bytes = self.bytes;
        request.sent.bytes = self.bytes;
        request.sent.complete = self.whole;
        request.finished_ms = myriad_net::clock::now_ms();
        access_log::write(&mut self.exchange);
    }
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
