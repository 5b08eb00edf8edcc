//! Client of SCGI and uwsgi.
//!
//! A request consists of an environment and a body. The response consists of a CGI head (RFC 3875 section 6) or an HTTP
//! head, and a body up to `Content-Length` or the end of the connection. Each connection serves a single request.

use std::future::poll_fn;

use crate::fastcgi_protocol::cgi::{HeadError, ParsedHead, parse_head};
use bytes::Buf;
use myriad_http::h1::{ResponseFraming, response_framing};
use myriad_http::{Known, Method, ResponseHead};

use crate::body::BodyDecoder;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::link::Link;
use crate::piece_queue::PieceQueue;

/// Head of an SCGI or uwsgi response, with the decoder of the body that follows.
pub(crate) struct CgiResponseHead {
    pub(crate) head: ResponseHead,
    pub(crate) demux: Cgi,
}

/// Reads the response head of at most `max_head` bytes; bytes after it remain in the input of `link`. Fails if the head
/// is too large or invalid, or the connection fails.
pub(crate) async fn read_head(
    link: &mut Link,
    method: Method,
    max_head: usize,
) -> Result<CgiResponseHead, OriginError> {
    loop {
        if let ParsedHead::Complete(head, length) = parse_head(&link.input, max_head).map_err(invalid_head)? {
            link.input.advance(length);
            return begin_body(*head, method);
        }
        if poll_fn(|cx| link.poll_fill(cx, Phase::ReadingHead)).await? == 0 {
            return Err(link.closed(Phase::ReadingHead));
        }
    }
}

fn begin_body(mut head: ResponseHead, method: Method) -> Result<CgiResponseHead, OriginError> {
    // The end of the connection frames the body; a `Transfer-Encoding` of the script would only confuse the client.
    head.fields.remove_known(Known::TransferEncoding);
    let framing = response_framing(&head, method)
        .map_err(|error| OriginError::invalid(Phase::ReadingHead, format!("upstream sent {error}")))?;
    let left = match framing {
        ResponseFraming::None => Some(0),
        ResponseFraming::Length(length) => Some(length),
        ResponseFraming::Chunked | ResponseFraming::UntilClose => None,
    };
    Ok(CgiResponseHead { head, demux: Cgi { left, has_body: framing != ResponseFraming::None } })
}

/// Converts a parse error of a response head to an error for the error log.
pub(crate) fn invalid_head(error: HeadError) -> OriginError {
    let kind = match error {
        HeadError::TooBig => ErrorKind::TooLargeHead,
        HeadError::InvalidHeader | HeadError::InvalidStatus => ErrorKind::InvalidHead,
    };
    OriginError::new(kind, Phase::ReadingHead, error.to_string())
}

/// Decoder of a response body up to `Content-Length`. Bytes beyond the length are dropped, with a warning unless the
/// response must not have a body. Without a length, the body is complete when the origin closes the connection.
pub(crate) struct Cgi {
    left: Option<u64>,
    has_body: bool,
}

impl BodyDecoder for Cgi {
    fn advance(&mut self, link: &mut Link, out: &mut PieceQueue) -> Result<bool, OriginError> {
        let mut data = link.input.split().freeze();
        if let Some(left) = &mut self.left {
            if data.len() as u64 > *left {
                data.truncate(*left as usize);
                if self.has_body {
                    link.warn("upstream sent more data than specified in \"Content-Length\" header");
                }
            }
            *left -= data.len() as u64;
        }
        if !data.is_empty() {
            out.push_back(data);
        }
        Ok(self.left == Some(0))
    }

    fn ends_at_close(&self) -> bool {
        self.left.is_none()
    }

    fn is_clean(&self) -> bool {
        false
    }

    fn left(&self) -> Option<u64> {
        self.left
    }
}
