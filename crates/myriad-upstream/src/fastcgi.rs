//! FastCGI client: one request at a time on a connection.

use std::future::poll_fn;

use crate::fastcgi_protocol::cgi;
use crate::fastcgi_protocol::{EndRequest, Event, FastCgiError, ProtocolStatus, ResponderDecoder, request};
use bytes::{Bytes, BytesMut};
use myriad_http::h1::{ResponseFraming, response_framing};
use myriad_http::{Known, Method, ResponseHead};

use crate::body::BodyDecoder;
use crate::cgi::invalid_head;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::link::Link;
use crate::piece_queue::PieceQueue;

/// Encodes BEGIN_REQUEST and the environment `params`; with `is_whole`, also the end of an empty body. `keep_conn`
/// requests the application to leave the connection open.
pub(crate) fn request_head(params: &[u8], keep_conn: bool, is_whole: bool) -> Bytes {
    let mut out = Vec::with_capacity(params.len() + HEADER_ROOM);
    request::begin(&mut out, keep_conn);
    request::params(&mut out, params);
    if is_whole {
        out.extend_from_slice(&request::stdin_end());
    }
    out.into()
}

/// Capacity reserved for the FastCGI record headers of a short request, in bytes.
const HEADER_ROOM: usize = 64;

/// Head of a FastCGI response, with the decoder and the start of the body.
pub(crate) struct FastCgiResponseHead {
    pub(crate) head: ResponseHead,
    pub(crate) demux: FastCgi,
    /// Body bytes that arrived with the head.
    pub(crate) first: PieceQueue,
}

/// Reads the response head of at most `max_head` bytes; bytes after it are the start of the body. Fails if the head is
/// too large or invalid, the connection fails, the application rejects the request, or the error stream contains a text
/// of `fastcgi_catch_stderr`.
pub(crate) async fn read_head(
    link: &mut Link,
    method: Method,
    max_head: usize,
) -> Result<FastCgiResponseHead, OriginError> {
    let mut decoder = ResponderDecoder::new();
    let mut gathered = BytesMut::new();
    loop {
        while let Some(event) =
            decoder.decode(&mut link.input).map_err(|error| decode_failure(error, Phase::ReadingHead))?
        {
            match event {
                Event::Stderr(text) => {
                    link.stderr(&text, Phase::ReadingHead);
                    if link.is_invalidated_by(&text) {
                        let what = "FastCGI stderr contains a text of fastcgi_catch_stderr";
                        return Err(OriginError::invalid(Phase::ReadingHead, what));
                    }
                }
                Event::StdoutEnd => {}
                Event::End(end) => return Err(premature_end(end)),
                Event::Stdout(data) => {
                    if let Some((head, rest)) = parse(&mut gathered, data, max_head)? {
                        return begin_body(link, head, rest, decoder, method);
                    }
                }
            }
        }
        if poll_fn(|cx| link.poll_fill(cx, Phase::ReadingHead)).await? == 0 {
            return Err(link.closed(Phase::ReadingHead));
        }
    }
}

/// Parses the response head from the bytes in `gathered` and `data`. If `gathered` is empty, which is the usual case,
/// nothing is copied. Returns the head and the bytes after it; `None` if the head is incomplete.
fn parse(
    gathered: &mut BytesMut,
    data: Bytes,
    max_head: usize,
) -> Result<Option<(ResponseHead, Bytes)>, OriginError> {
    let whole = if gathered.is_empty() {
        data
    } else {
        gathered.extend_from_slice(&data);
        gathered.split().freeze()
    };
    match cgi::parse_head(&whole, max_head).map_err(invalid_head)? {
        cgi::ParsedHead::Complete(head, length) => Ok(Some((*head, whole.slice(length..)))),
        cgi::ParsedHead::Partial => {
            gathered.extend_from_slice(&whole);
            Ok(None)
        }
    }
}

fn begin_body(
    link: &Link,
    mut head: ResponseHead,
    rest: Bytes,
    decoder: ResponderDecoder,
    method: Method,
) -> Result<FastCgiResponseHead, OriginError> {
    // FastCGI frames the body; a `Transfer-Encoding` of the script would only confuse the client.
    head.fields.remove_known(Known::TransferEncoding);
    let framing = response_framing(&head, method)
        .map_err(|error| OriginError::invalid(Phase::ReadingHead, format!("upstream sent {error}")))?;
    let left = match framing {
        ResponseFraming::None => Some(0),
        ResponseFraming::Length(length) => Some(length),
        ResponseFraming::Chunked | ResponseFraming::UntilClose => None,
    };
    let has_body = framing != ResponseFraming::None;
    let mut demux = FastCgi { decoder, left, has_body, warned: false };
    let mut first = PieceQueue::new();
    demux.admit(link, rest, &mut first);
    link.log.body(first.iter().map(Bytes::len).sum());
    Ok(FastCgiResponseHead { head, demux, first })
}

fn decode_failure(error: FastCgiError, phase: Phase) -> OriginError {
    OriginError::invalid(phase, error.to_string())
}

/// Returns the error for an END_REQUEST that arrived before the head was complete.
fn premature_end(end: EndRequest) -> OriginError {
    let why = match end.protocol_status {
        ProtocolStatus::RequestComplete => {
            let what = "upstream prematurely closed FastCGI stdout";
            return OriginError::invalid(Phase::ReadingHead, what);
        }
        ProtocolStatus::CannotMultiplex => "it cannot multiplex requests",
        ProtocolStatus::Overloaded => "it is overloaded",
        ProtocolStatus::UnknownRole => "it does not support the responder role",
        ProtocolStatus::Other(_) => "unknown protocol status",
    };
    let what = format!("upstream rejected the FastCGI request ({why})");
    OriginError::new(ErrorKind::Rejected, Phase::ReadingHead, what)
}

/// Decoder of a response body in FastCGI STDOUT records. If the script sent `Content-Length`, drops the bytes beyond
/// it, and fails if fewer arrive.
pub(crate) struct FastCgi {
    decoder: ResponderDecoder,
    /// Number of bytes up to `Content-Length` that have not been received yet; `None` without a length.
    left: Option<u64>,
    /// True if the response may have a body.
    has_body: bool,
    /// True once the warning about surplus bytes has been logged.
    warned: bool,
}

impl FastCgi {
    /// Appends body bytes to `out`; drops those beyond `Content-Length`. If it drops any, logs a warning once, unless
    /// the response must not have a body.
    fn admit(&mut self, link: &Link, mut data: Bytes, out: &mut PieceQueue) {
        if let Some(left) = &mut self.left {
            if data.len() as u64 > *left {
                data.truncate(*left as usize);
                if self.has_body && !self.warned {
                    link.warn("upstream sent more data than specified in \"Content-Length\" header");
                    self.warned = true;
                }
            }
            *left -= data.len() as u64;
        }
        if !data.is_empty() {
            out.push_back(data);
        }
    }
}

impl BodyDecoder for FastCgi {
    fn advance(&mut self, link: &mut Link, out: &mut PieceQueue) -> Result<bool, OriginError> {
        while let Some(event) =
            self.decoder.decode(&mut link.input).map_err(|error| decode_failure(error, Phase::ReadingBody))?
        {
            match event {
                Event::Stdout(data) => self.admit(link, data, out),
                Event::StdoutEnd => {}
                Event::Stderr(text) => link.stderr(&text, Phase::ReadingBody),
                Event::End(_) if self.left.is_some_and(|left| left > 0) => {
                    return Err(OriginError::new(
                        ErrorKind::Closed,
                        Phase::ReadingBody,
                        "upstream sent less data than specified in \"Content-Length\" header",
                    ));
                }
                Event::End(end) => {
                    if end.app_status != 0 || end.protocol_status != ProtocolStatus::RequestComplete {
                        link.log.fatal();
                    }
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Returns true if the length of the body is known and no byte is missing: without a length, nothing but
    /// END_REQUEST proves a complete body.
    fn ends_at_close(&self) -> bool {
        self.left == Some(0)
    }

    fn is_clean(&self) -> bool {
        self.decoder.is_clean_end()
    }

    fn left(&self) -> Option<u64> {
        self.left
    }
}
