//! Response of a service, and the report on how it was sent.

use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::request_buffers;
use crate::timeouts::Timeouts;

/// Head of a response in the form of HTTP/1 text, so that a cached head is copied as a whole. The HTTP/2 and HTTP/3
/// drivers parse it.
///
/// The service must not write `Connection` (except for [`ResponseBody::Tunnel`]), `Keep-Alive` and `Transfer-Encoding`;
/// the driver does.
pub struct ResponseText {
    pub(crate) text: Vec<u8>,
    status: u16,
    /// Offset of the first field line in `text`, after the status line.
    fields_at: usize,
}

impl ResponseText {
    /// Creates a head without fields. `reason` may be empty.
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

    /// Appends a field. Name and value must not contain CR, LF or NUL.
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

    /// Returns the text of the head, so that parts of a field line can be appended.
    pub fn text_mut(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// Returns the field lines appended so far.
    pub fn fields(&self) -> &[u8] {
        &self.text[self.fields_at..]
    }

    /// Removes the field lines for which `keeps` returns false. `keeps` is called with each line including its CRLF.
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

    /// Returns the names and values of the fields appended so far.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        fields(self.fields())
    }
}

/// Parses field lines and returns the names and values; skips lines without a colon.
pub(crate) fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines.split(|&byte| byte == b'\n').filter_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let colon = line.iter().position(|&byte| byte == b':')?;
        let value = &line[colon + 1..];
        Some((&line[..colon], value.strip_prefix(b" ").unwrap_or(value)))
    })
}

/// Appends `value` in decimal, padded with zeros to at least `width` digits.
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
    /// No body, for example with status 204 or 304, or in a response to HEAD whose fields contain the length.
    None,
    /// Whole body in one memory buffer.
    Full(Bytes),
    /// Whole body in several memory buffers, sent in order.
    Parts(Vec<Bytes>),
    /// Range of a file, sent with `sendfile`.
    File {
        /// Open file that contains the body.
        file: Arc<OwnedFd>,
        /// Offset of the first body byte in the file.
        offset: u64,
        /// Number of body bytes in the file.
        length: u64,
    },
    /// Stream and its length, read as the client accepts bytes. Without a length, HTTP/1.1 uses chunked coding;
    /// HTTP/1.0, and HTTP/1.1 if [`Response::chunked`] is false, close the connection after the body.
    Stream(BoxBody, Option<u64>),
    /// Relay of bytes after a switch to another protocol (status 101, for which the service writes `Connection` and
    /// `Upgrade`) or after a successful CONNECT. HTTP/1 only; other drivers reset the stream.
    Tunnel(Box<Tunnel>),
}

/// Origin side of a connection that has switched to another protocol, or of a CONNECT request.
pub struct Tunnel {
    /// Connection to the origin, to which the client's bytes are relayed.
    pub stream: Pin<Box<dyn Duplex>>,
    /// Bytes received from the origin after its head.
    pub leftover: Bytes,
    /// Maximum time in milliseconds without data from either side (`proxy_read_timeout`); 0 for no limit.
    pub read_ms: u64,
    /// Maximum time in milliseconds during which the origin accepts no bytes (`proxy_send_timeout`); 0 for no limit.
    pub send_ms: u64,
}

/// Bidirectional byte stream, as used by tunnels.
pub trait Duplex: AsyncRead + AsyncWrite {}

impl<T: AsyncRead + AsyncWrite> Duplex for T {}

impl ResponseBody {
    /// Returns the length of the body in bytes; `None` if it is unknown.
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

/// Rate limit of a response (`limit_rate`, `limit_rate_after`).
#[derive(Clone, Copy, Debug)]
pub struct RateLimit {
    /// Maximum number of bytes per second (`limit_rate`).
    pub bytes_per_second: u64,
    /// Number of bytes sent at full speed first (`limit_rate_after`).
    pub after: u64,
}

/// Response of a service to a request.
pub struct Response<T> {
    /// Status line and header fields.
    pub head: ResponseText,
    /// Response body. Not sent in response to HEAD, or with status 1xx, 204 or 304.
    pub body: ResponseBody,
    /// If true, a body of unknown length may use chunked coding (`chunked_transfer_encoding`).
    pub chunked: bool,
    /// If true, the connection closes after this response; on HTTP/2 and HTTP/3 a GOAWAY is sent, and responses in
    /// progress are completed.
    pub close: bool,
    /// If true, no response is sent (nginx's `return 444`): an HTTP/1 connection closes; on HTTP/2 and HTTP/3 the
    /// stream is reset.
    pub drop_connection: bool,
    /// Value of the field `Keep-Alive: timeout=` in seconds (second argument of `keepalive_timeout`); 0 omits the
    /// field.
    pub keepalive_header_s: u32,
    /// Timeouts of the location that responds, used for sending and for the connection afterwards.
    pub timeouts: Timeouts,
    /// If true, the head is delayed until 1,460 bytes of the response (on HTTP/2, any piece of the body) or the whole
    /// response are available. If the body fails before, nothing is sent.
    pub postponed: bool,
    /// Rate limit (`limit_rate`); `None` for no limit.
    pub rate: Option<RateLimit>,
    /// `http2_chunk_size`: maximum number of body bytes in one HTTP/2 frame.
    pub frame: u32,
    /// State that the service gets back in [`crate::Service::finish`] when the exchange is over.
    pub ticket: T,
    /// Function that appends trailer lines, each terminated by CRLF (RFC 9112 section 7.1.2). Called once, when the
    /// body is complete: on HTTP/1 with chunked coding, on HTTP/3 if the length of the body is unknown, on HTTP/2
    /// unless the body is in memory and not limited by `limit_rate`.
    pub trailers: Option<fn(&mut T, &mut Vec<u8>)>,
    /// Number of bytes that the first `writev` has sent, head included.
    pub(crate) sent_already: usize,
}

impl<T> Response<T> {
    /// Creates a response after which the connection stays open, with nginx's default timeouts and without a rate
    /// limit.
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

/// Report on how a response was sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentReport {
    /// Status sent; 0 if the connection was dropped instead.
    pub status: u16,
    /// Number of bytes of the head as sent; on multiplexed connections after compression (HPACK, QPACK).
    pub head_bytes: u64,
    /// Number of body bytes sent, without framing (`$body_bytes_sent`).
    pub body_bytes: u64,
    /// Total number of bytes of the response that were written: head, body and framing (`$bytes_sent`).
    pub bytes: u64,
    /// Set if the connection was to stay open after the response (`$sent_http_connection`); always on HTTP/2 and
    /// HTTP/3.
    pub keep_alive: bool,
    /// Set if the body had chunked coding (`$sent_http_transfer_encoding`).
    pub chunked: bool,
    /// Set if the whole response was sent (`$request_completion`).
    pub complete: bool,
    /// Set if bytes of the request arrived before the response to the previous request was finished (`$pipe`).
    pub pipelined: bool,
    /// Number of bytes received of the request head and body (`$request_length`).
    pub request_bytes: u64,
    /// Time of the first byte sent (HTTP/2: passed to the codec), in microseconds of the process clock; 0 if nothing
    /// was sent, or if the response was sent with one write, so that the end of the exchange is this time.
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
