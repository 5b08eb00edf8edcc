//! Response of a service, and the report of its transfer.

use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::request_buffers;
use crate::timeouts::Timeouts;

/// Status line and fields, written in the form of HTTP/1, so that a stored head is copied once.
///
/// `Connection`, `Keep-Alive` and `Transfer-Encoding` are written by the driver and never here.
pub struct ResponseText {
    pub(crate) text: Vec<u8>,
    status: u16,
    /// Offset of the fields in `text`; the drivers of other versions read them from there.
    fields_at: usize,
}

impl ResponseText {
    /// Creates a head. `reason` may be empty.
    pub fn new(status: u16, reason: &str) -> Self {
        let mut text = request_buffers::take_head();
        text.extend_from_slice(b"HTTP/1.1 ");
        push_decimal(&mut text, u64::from(status), 3);
        text.push(b' ');
        text.extend_from_slice(reason.as_bytes());
        text.extend_from_slice(b"\r\n");
        let fields_at = text.len();
        Self { text, status, fields_at }
    }

    /// Returns the status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Appends a field. The caller must ensure that neither part contains CR, LF or NUL.
    pub fn append_field(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(b": ");
        self.text.extend_from_slice(value);
        self.text.extend_from_slice(b"\r\n");
    }

    /// Appends a field with a decimal value.
    pub fn append_number(&mut self, name: &[u8], value: u64) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(b": ");
        push_decimal(&mut self.text, value, 1);
        self.text.extend_from_slice(b"\r\n");
    }

    /// Appends whole field lines, each terminated by CRLF.
    pub fn append_lines(&mut self, lines: &[u8]) {
        self.text.extend_from_slice(lines);
    }

    /// Returns the text itself, to append parts of a line.
    pub fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Returns the field lines so far.
    pub fn fields(&self) -> &[u8] {
        &self.text[self.fields_at..]
    }

    /// Retains only the field lines for which `keeps` returns true; it gets each line with its CRLF.
    pub fn retain(&mut self, mut keeps: impl FnMut(&[u8]) -> bool) {
        let (mut from, mut to) = (self.fields_at, self.fields_at);
        while from < self.text.len() {
            let end = memchr::memchr(b'\n', &self.text[from..]).map_or(self.text.len(), |at| from + at + 1);
            if keeps(&self.text[from..end]) {
                if to < from {
                    self.text.copy_within(from..end, to);
                }
                to += end - from;
            }
            from = end;
        }
        self.text.truncate(to);
    }

    /// Returns the names and values of the fields so far.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        fields(self.fields())
    }
}

/// Returns the names and values of field lines.
pub(crate) fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines.split(|&byte| byte == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let colon = line.iter().position(|&byte| byte == b':')?;
        let value = &line[colon + 1..];
        Some((&line[..colon], value.strip_prefix(b" ").unwrap_or(value)))
    })
}

/// Appends `value` in decimal, padded with zeros to `width`.
fn push_decimal(out: &mut Vec<u8>, mut value: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while value > 0 {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - width)..]);
}

/// Body of a response.
pub enum ResponseBody {
    /// No body: 204, 304, or a HEAD response whose head contains the length.
    None,
    /// One memory buffer.
    Full(Bytes),
    /// Several memory buffers, sent in order.
    Parts(Vec<Bytes>),
    /// Range of a file, sent with `sendfile`.
    File {
        /// Open file.
        file: Arc<OwnedFd>,
        /// Offset of the first byte.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// Stream, pulled as the client reads it. Without a length it is chunked, or terminated by closing the connection
    /// for HTTP/1.0.
    Stream(BoxBody, Option<u64>),
    /// Switch to another protocol, only with status 101. The service writes `Connection` and `Upgrade` itself.
    Tunnel(Box<Tunnel>),
}

/// Upstream side of a connection that has switched to another protocol.
pub struct Tunnel {
    /// Connection to the origin.
    pub stream: Pin<Box<dyn Duplex>>,
    /// Bytes received from the origin after its head.
    pub leftover: Bytes,
    /// Maximum silence in milliseconds (`proxy_read_timeout`).
    pub read_ms: u64,
    /// Maximum time in which the origin reads nothing, in milliseconds (`proxy_send_timeout`).
    pub send_ms: u64,
}

/// Bidirectional byte stream.
pub trait Duplex: AsyncRead + AsyncWrite {}

impl<T: AsyncRead + AsyncWrite> Duplex for T {}

impl ResponseBody {
    /// Returns the length in bytes, if it is known.
    pub fn length(&self) -> Option<u64> {
        match self {
            Self::None => Some(0),
            Self::Full(bytes) => Some(bytes.len() as u64),
            Self::Parts(parts) => Some(parts.iter().map(|part| part.len() as u64).sum()),
            Self::File { length, .. } => Some(*length),
            Self::Stream(_, length) => *length,
            Self::Tunnel(_) => None,
        }
    }
}

/// Rate limit: `limit_rate` and `limit_rate_after`.
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    /// Bytes per second.
    pub bytes_per_second: u64,
    /// Number of bytes sent at full speed first.
    pub after: u64,
}

/// Response. The service writes all fields except those of the connection.
pub struct Response<T> {
    /// Status line and fields.
    pub head: ResponseText,
    /// Body; not sent for HEAD.
    pub body: ResponseBody,
    /// Set if a body of unknown length may be chunked (`chunked_transfer_encoding`).
    pub chunked: bool,
    /// Set if the connection must close after this response.
    pub close: bool,
    /// Set to close the connection without a response (nginx's `return 444`).
    pub drop_connection: bool,
    /// Value of a `Keep-Alive: timeout=` field in seconds (second argument of `keepalive_timeout`), 0 for none.
    pub keepalive_header_s: u32,
    /// Time-outs of the location that sends the response.
    pub timeouts: Timeouts,
    /// Set if the head waits for the first bytes of a streamed body: if the body fails before, nothing is sent.
    pub postponed: bool,
    /// `limit_rate`.
    pub rate: Option<RateLimit>,
    /// `http2_chunk_size`: maximum number of body bytes in one HTTP/2 frame.
    pub frame: u32,
    /// State that the service gets back when the exchange is finished.
    pub ticket: T,
    /// Appends the trailer lines after the last chunk, each terminated by CRLF (RFC 9112 section 7.1.2); called once,
    /// when a chunked body is complete.
    pub trailers: Option<fn(&mut T, &mut Vec<u8>)>,
    /// Number of bytes of head and body sent by a first `writev`.
    pub(crate) sent_already: usize,
}

impl<T> Response<T> {
    /// Creates a response that preserves the connection, with nginx's default time-outs.
    pub fn new(head: ResponseText, body: ResponseBody, ticket: T) -> Self {
        Self {
            head,
            body,
            chunked: true,
            close: false,
            drop_connection: false,
            keepalive_header_s: 0,
            timeouts: Timeouts::default(),
            postponed: false,
            rate: None,
            frame: 8192,
            ticket,
            trailers: None,
            sent_already: 0,
        }
    }
}

/// Report of a sent response.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentReport {
    /// Status sent; 0 if the connection was dropped instead.
    pub status: u16,
    /// Bytes of the head (`$bytes_sent` minus the body).
    pub head_bytes: u64,
    /// Bytes of the body, without chunk framing (`$body_bytes_sent`).
    pub body_bytes: u64,
    /// Total bytes written (`$bytes_sent`).
    pub bytes: u64,
    /// Set if the response announced that the connection stays open (`$sent_http_connection`).
    pub keep_alive: bool,
    /// Set if the body was chunked (`$sent_http_transfer_encoding`).
    pub chunked: bool,
    /// Set if the whole response was sent (`$request_completion`).
    pub complete: bool,
    /// Set if the client closed the connection.
    pub client_closed: bool,
    /// Set if the request started to arrive before the response to the previous request was finished (`$pipe`).
    pub pipelined: bool,
    /// Bytes of the request, head and body (`$request_length`).
    pub request_bytes: u64,
    /// Time of the first sent byte, in microseconds since the epoch; 0 if that was when the exchange finished.
    pub first_us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_written_as_it_is_found_and_reads_back() {
        let mut head = ResponseText::new(200, "OK");
        head.append_field(b"Content-Type", b"text/html");
        head.append_number(b"Content-Length", 0);
        head.append_lines(b"ETag: \"x\"\r\n");
        assert_eq!(
            head.text,
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\nETag: \"x\"\r\n"
        );
        let fields: Vec<_> = head.iter().collect();
        assert_eq!(fields[1], (&b"Content-Length"[..], &b"0"[..]));
        assert_eq!(fields.len(), 3);
    }

    #[test]
    fn lines_go_by_their_names_and_the_status_stays() {
        let mut head = ResponseText::new(200, "OK");
        head.append_lines(b"A: 1\r\nB: a:2\r\nA: 3\r\nC:\r\n");
        head.retain(|line| !line.starts_with(b"A:"));
        assert_eq!(head.text, b"HTTP/1.1 200 OK\r\nB: a:2\r\nC:\r\n");
        head.retain(|_| false);
        assert_eq!((head.text.as_slice(), head.fields()), (&b"HTTP/1.1 200 OK\r\n"[..], &b""[..]));
    }
}
