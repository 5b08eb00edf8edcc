//! What a service gives back, and what became of it.

use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::request_buffers;
use crate::timeouts::Timeouts;

/// Status line and fields, written in HTTP/1's form as they are found, so that a stored head is copied once.
///
/// Connection, Keep-Alive and Transfer-Encoding belong to the driver and are never written here.
pub struct Head {
    pub(crate) text: Vec<u8>,
    status: u16,
    /// The place where the fields begin in `text`; a driver of another version reads them from there.
    fields_at: usize,
}

impl Head {
    /// Begins a head. `reason` may be empty.
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

    /// The status code.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Appends a field. The caller vouches that neither part holds CR, LF or NUL.
    pub fn field(&mut self, name: &[u8], value: &[u8]) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(b": ");
        self.text.extend_from_slice(value);
        self.text.extend_from_slice(b"\r\n");
    }

    /// Appends a field with a decimal value.
    pub fn number(&mut self, name: &[u8], value: u64) {
        self.text.extend_from_slice(name);
        self.text.extend_from_slice(b": ");
        push_decimal(&mut self.text, value, 1);
        self.text.extend_from_slice(b"\r\n");
    }

    /// Appends whole field lines, each ended by CRLF.
    pub fn lines(&mut self, lines: &[u8]) {
        self.text.extend_from_slice(lines);
    }

    /// The text itself, to append parts of a line.
    pub fn text(&mut self) -> &mut Vec<u8> {
        &mut self.text
    }

    /// The field lines so far.
    pub fn fields(&self) -> &[u8] {
        &self.text[self.fields_at..]
    }

    /// Takes out the lines of the fields so far that `keeps` does not keep; it is given each with its CRLF.
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

    /// Names and values of the fields so far.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        fields(self.fields())
    }
}

/// Names and values of field lines.
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

/// The body of a response.
pub enum ResponseBody {
    /// None at all: 204, 304, or a HEAD answer whose length stands in the head already.
    None,
    /// One stretch of memory.
    Full(Bytes),
    /// Several stretches, sent in order.
    Parts(Vec<Bytes>),
    /// A stretch of a file, sent with `sendfile`.
    File {
        /// The open file.
        file: Arc<OwnedFd>,
        /// First byte to send.
        offset: u64,
        /// Bytes to send.
        length: u64,
    },
    /// Pulled as the client takes it. Without a length it is chunked, or ends with the connection for HTTP/1.0.
    Stream(BoxBody, Option<u64>),
    /// None, but another protocol instead: with status 101 only. The service writes `Connection` and `Upgrade` itself.
    Tunnel(Box<Tunnel>),
}

/// The other end of a connection that speaks another protocol from now on.
pub struct Tunnel {
    /// The connection to the origin.
    pub stream: Pin<Box<dyn Duplex>>,
    /// What the origin sent beyond its head.
    pub leftover: Bytes,
    /// Longest silence, milliseconds (`proxy_read_timeout`).
    pub read_ms: u64,
    /// How long the origin may take nothing, milliseconds (`proxy_send_timeout`).
    pub send_ms: u64,
}

/// Bytes both ways.
pub trait Duplex: AsyncRead + AsyncWrite {}

impl<T: AsyncRead + AsyncWrite> Duplex for T {}

impl ResponseBody {
    /// The length in bytes, where it is known.
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

/// `limit_rate` and `limit_rate_after`.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Bytes a second.
    pub bytes_per_second: u64,
    /// Bytes sent at full speed first.
    pub after: u64,
}

/// A response. The service writes every field but those of the connection.
pub struct Response<T> {
    /// Status line and fields.
    pub head: Head,
    /// The body; not sent for HEAD.
    pub body: ResponseBody,
    /// Whether a body of unknown length may be chunked (`chunked_transfer_encoding`).
    pub chunked: bool,
    /// Whether the connection must end after this answer.
    pub close: bool,
    /// Close without any answer (nginx's `return 444`).
    pub drop_connection: bool,
    /// Value of a `Keep-Alive: timeout=` field in seconds (second argument of `keepalive_timeout`), 0 for none.
    pub keepalive_header_s: u32,
    /// The time-outs of the location that answered.
    pub timeouts: Timeouts,
    /// The head waits for the first bytes of a streamed body: where that breaks off before, nothing is sent at all.
    pub postponed: bool,
    /// `limit_rate`.
    pub rate: Option<Rate>,
    /// `http2_chunk_size`: most bytes of the body in one frame of HTTP/2.
    pub frame: u32,
    /// What the service wants back when the exchange is over.
    pub ticket: T,
    /// Appends the field lines that follow the last chunk, each ended by CRLF (RFC 9112 section 7.1.2); asked once,
    /// when a chunked body is over.
    pub trailers: Option<fn(&mut T, &mut Vec<u8>)>,
    /// Bytes of head and body that a first `writev` took.
    pub(crate) sent_already: usize,
}

impl<T> Response<T> {
    /// A response that keeps the connection, with nginx's default time-outs.
    pub fn new(head: Head, body: ResponseBody, ticket: T) -> Self {
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

/// What became of a response.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    /// The status sent; 0 where the connection was dropped instead.
    pub status: u16,
    /// Bytes of the head (`$bytes_sent` less the body's).
    pub head_bytes: u64,
    /// Bytes of the body, without chunk framing (`$body_bytes_sent`).
    pub body_bytes: u64,
    /// Bytes written in all (`$bytes_sent`).
    pub bytes: u64,
    /// Whether the client was told that the connection stays open (`$sent_http_connection`).
    pub kept: bool,
    /// Whether the body was chunked (`$sent_http_transfer_encoding`).
    pub chunked: bool,
    /// Whether the response left whole (`$request_completion`).
    pub complete: bool,
    /// Whether it was the client that went away.
    pub client_closed: bool,
    /// Whether the request began to arrive before the one ahead of it was answered (`$pipe`).
    pub pipelined: bool,
    /// Bytes of the request: head and body (`$request_length`).
    pub request_bytes: u64,
    /// When the first byte left, microseconds since the epoch; 0 where that was when the exchange was over.
    pub first_us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_is_written_as_it_is_found_and_reads_back() {
        let mut head = Head::new(200, "OK");
        head.field(b"Content-Type", b"text/html");
        head.number(b"Content-Length", 0);
        head.lines(b"ETag: \"x\"\r\n");
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
        let mut head = Head::new(200, "OK");
        head.lines(b"A: 1\r\nB: a:2\r\nA: 3\r\nC:\r\n");
        head.retain(|line| !line.starts_with(b"A:"));
        assert_eq!(head.text, b"HTTP/1.1 200 OK\r\nB: a:2\r\nC:\r\n");
        head.retain(|_| false);
        assert_eq!((head.text.as_slice(), head.fields()), (&b"HTTP/1.1 200 OK\r\n"[..], &b""[..]));
    }
}
