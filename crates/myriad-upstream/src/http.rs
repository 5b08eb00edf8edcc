//! HTTP/1 client (RFC 9112).

use std::future::poll_fn;

use bytes::Buf;
use myriad_http::h1::{
    ChunkedDecoder, HeadLimits, ParseStatus, ResponseFraming, parse_response, response_framing,
    response_keeps_alive,
};
use myriad_http::{Known, Method, ParseError, ResponseHead};

use crate::body::BodyDecoder;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::head_pool;
use crate::link::{Link, ReturnPool};
use crate::piece_queue::PieceQueue;
use crate::response::Trailers;

/// Maximum number of interim (1xx) responses before the final response. Each restarts the read timeout, so without a
/// limit they would delay the final response indefinitely.
const MAX_INTERIM: usize = 32;

/// HTTP/1 response head, with the use of the connection after it.
pub(crate) enum HttpResponseHead {
    /// Final response head, with the decoder of its body.
    Body(ResponseHead, Http),
    /// Status 101: the connection switches to another protocol.
    Upgraded(ResponseHead),
}

/// Reads the head of the final response; interim responses (RFC 9110 §15.2) are passed to the observer. `upgrade` is
/// the request's `Upgrade` field; empty if it has none, so that 101 is an error.
pub(crate) async fn read_head(
    link: &mut Link,
    method: Method,
    max_head: usize,
    upgrade: &[u8],
) -> Result<HttpResponseHead, OriginError> {
    let limits = HeadLimits {
        line: max_head,
        total: max_head,
        ignore_invalid_headers: false,
        ..HeadLimits::default()
    };
    let mut head = head_pool::take();
    let mut interim = 0;
    loop {
        // Usually nothing has been received yet.
        let parsed = if link.input.is_empty() {
            ParseStatus::Partial
        } else {
            parse_response(&link.input, &limits, &mut head).map_err(invalid_head)?
        };
        match parsed {
            ParseStatus::Partial if link.input.len() >= max_head => {
                return Err(invalid_head(ParseError::HeaderTooLarge));
            }
            ParseStatus::Partial => {
                if poll_fn(|cx| link.poll_fill(cx, Phase::ReadingHead)).await? == 0 {
                    return Err(link.closed(Phase::ReadingHead));
                }
            }
            ParseStatus::Complete(length) => {
                link.input.advance(length);
                match head.status {
                    101 if is_requested_upgrade(&head, upgrade) => {
                        return Ok(HttpResponseHead::Upgraded(head));
                    }
                    101 if !upgrade.is_empty() => {
                        return Err(unexpected("upstream switched to a protocol that was not requested"));
                    }
                    101 => {
                        return Err(unexpected(
                            "upstream switched protocols although no upgrade was requested",
                        ));
                    }
                    100..200 if interim == MAX_INTERIM => {
                        return Err(unexpected("upstream sent too many interim responses"));
                    }
                    100..200 => {
                        interim += 1;
                        link.interim(&head);
                    }
                    _ => return begin_body(link, head, method),
                }
            }
        }
    }
}

/// Returns whether the `Upgrade` field of a 101 response names at least one protocol, and all of its protocols are in
/// `asked` (RFC 9110 §7.8).
fn is_requested_upgrade(head: &ResponseHead, asked: &[u8]) -> bool {
    let members = |value| list_members(value).filter(|name| !name.is_empty());
    let is_asked = |name: &[u8]| members(asked).any(|other| other.eq_ignore_ascii_case(name));
    let mut named = head.fields.known_all(Known::Upgrade).flat_map(members).peekable();
    named.peek().is_some() && named.all(is_asked)
}

fn list_members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn begin_body(link: &mut Link, head: ResponseHead, method: Method) -> Result<HttpResponseHead, OriginError> {
    let framing = response_framing(&head, method).map_err(invalid_head)?;
    if framing == ResponseFraming::UntilClose || !response_keeps_alive(&head) {
        link.return_pool = ReturnPool::NoPool;
    }
    let trailers = (framing == ResponseFraming::Chunked).then(Trailers::default);
    let framing = match framing {
        ResponseFraming::None => Framing::Length(0),
        ResponseFraming::Length(length) => Framing::Length(length),
        ResponseFraming::Chunked => Framing::Chunked(ChunkedDecoder::for_origin()),
        ResponseFraming::UntilClose => Framing::UntilClose,
    };
    Ok(HttpResponseHead::Body(head, Http { framing, surplus: false, trailers }))
}

fn unexpected(what: &str) -> OriginError {
    OriginError::invalid(Phase::ReadingHead, what)
}

fn invalid_head(error: ParseError) -> OriginError {
    let (kind, what) = match error {
        ParseError::HeaderTooLarge | ParseError::TooManyFields => {
            (ErrorKind::TooLargeHead, "upstream sent too big header".to_owned())
        }
        ParseError::InvalidStatusLine => {
            (ErrorKind::InvalidHead, "upstream sent no valid HTTP/1.0 header".to_owned())
        }
        error => (ErrorKind::InvalidHead, format!("upstream sent invalid header ({error})")),
    };
    OriginError::new(kind, Phase::ReadingHead, what)
}

enum Framing {
    Length(u64),
    Chunked(ChunkedDecoder),
    UntilClose,
}

/// Decoder of an HTTP/1 response body that is framed according to its head (RFC 9112 §6.3).
pub(crate) struct Http {
    framing: Framing,
    surplus: bool,
    /// Receives the trailer section; `None` unless the body is chunked.
    pub(crate) trailers: Option<Trailers>,
}

impl BodyDecoder for Http {
    fn advance(&mut self, link: &mut Link, out: &mut PieceQueue) -> Result<bool, OriginError> {
        let done = match &mut self.framing {
            Framing::UntilClose => {
                if !link.input.is_empty() {
                    out.push_back(link.input.split().freeze());
                }
                return Ok(false);
            }
            Framing::Length(left) => {
                let taken = link.input.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
                if taken > 0 {
                    out.push_back(link.input.split_to(taken).freeze());
                    *left -= taken as u64;
                }
                *left == 0
            }
            Framing::Chunked(decoder) => {
                let done = dechunk(decoder, link, out)?;
                if let (true, Some(trailers), Some(fields)) = (done, &self.trailers, decoder.trailers()) {
                    trailers.borrow_mut().clone_from(fields);
                }
                done
            }
        };
        if done && !link.input.is_empty() {
            self.surplus = true;
            link.warn(match self.framing {
                Framing::Chunked(_) => "upstream sent data after the final chunk",
                Framing::Length(_) | Framing::UntilClose => {
                    "upstream sent more data than specified in \"Content-Length\" header"
                }
            });
        }
        Ok(done)
    }

    fn ends_at_close(&self) -> bool {
        matches!(self.framing, Framing::UntilClose)
    }

    fn is_clean(&self) -> bool {
        !self.surplus
    }

    fn left(&self) -> Option<u64> {
        match self.framing {
            Framing::Length(left) => Some(left),
            Framing::Chunked(_) | Framing::UntilClose => None,
        }
    }
}

fn dechunk(decoder: &mut ChunkedDecoder, link: &mut Link, out: &mut PieceQueue) -> Result<bool, OriginError> {
    while !link.input.is_empty() {
        let chunk = decoder.decode(&link.input).map_err(|error| {
            OriginError::invalid(
                Phase::ReadingBody,
                format!("upstream sent invalid chunked response ({error})"),
            )
        })?;
        let stretch = link.input.split_to(chunk.consumed).freeze();
        if !chunk.data.is_empty() {
            out.push_back(stretch.slice(chunk.data));
        }
        if chunk.done {
            return Ok(true);
        }
        if chunk.consumed == 0 {
            break;
        }
    }
    Ok(false)
}
