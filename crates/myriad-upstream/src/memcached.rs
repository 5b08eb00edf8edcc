//! Client of memcached's text protocol (`doc/protocol.txt` of memcached). A request is a `get`; the value is the body
//! of the response.
//!
//! ```text
//! get KEY                    -> VALUE KEY FLAGS LENGTH   200, and LENGTH bytes
//!                               ...
//!                               END
//!                            -> END                      404
//! ```

use std::future::poll_fn;

use bytes::Buf;
use myriad_http::{Known, ResponseHead};

use crate::body::BodyDecoder;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::link::{Link, ReturnPool};
use crate::memcached_get::MemcachedGet;
use crate::piece_queue::PieceQueue;

/// Bytes that follow a value in a memcached response.
const TRAILER: &[u8] = b"\r\nEND\r\n";

/// Head of a memcached response, with the decoder of the value that follows.
pub(crate) struct MemcachedResponseHead {
    pub(crate) head: ResponseHead,
    pub(crate) demux: MemcachedValue,
}

/// Reads the first line of a memcached response and converts it to a response head: status 200, or 404 if the key does
/// not exist. Fails if `max_head` bytes arrive without a line end, the line is not a valid reply for this key, or the
/// connection fails.
pub(crate) async fn read_head(
    link: &mut Link,
    get: &MemcachedGet,
    max_head: usize,
) -> Result<MemcachedResponseHead, OriginError> {
    loop {
        if let Some(end) = link.input.iter().position(|byte| *byte == b'\n') {
            let line = link.input.split_to(end + 1);
            let line = line.strip_suffix(b"\r\n").unwrap_or(&line);
            return begin_body(line, get).inspect_err(|_| link.return_pool = ReturnPool::NoPool);
        }
        if link.input.len() >= max_head {
            return Err(OriginError::new(
                ErrorKind::TooLargeHead,
                Phase::ReadingHead,
                "memcached sent too big header",
            ));
        }
        if poll_fn(|cx| link.poll_fill(cx, Phase::ReadingHead)).await? == 0 {
            return Err(link.closed(Phase::ReadingHead));
        }
    }
}

fn begin_body(line: &[u8], get: &MemcachedGet) -> Result<MemcachedResponseHead, OriginError> {
    if line == b"END" {
        let mut head = ResponseHead::new(404);
        head.fields.push_known(Known::ContentLength, b"0");
        return Ok(MemcachedResponseHead {
            head,
            demux: MemcachedValue { left: 0, seen: TRAILER.len(), surplus: false },
        });
    }
    let invalid = |what: &str| {
        let shown = line[..line.len().min(64)].escape_ascii();
        OriginError::invalid(Phase::ReadingHead, format!("memcached sent invalid {what} in \"{shown}\""))
    };
    let rest = line.strip_prefix(b"VALUE ").ok_or_else(|| invalid("response"))?;
    let rest = rest.strip_prefix(&get.key[..]).and_then(|rest| rest.strip_prefix(b" "));
    let mut words = rest.ok_or_else(|| invalid("key"))?.split(|byte| *byte == b' ');
    let flags: u32 = words.next().and_then(number).ok_or_else(|| invalid("flags"))?;
    let length: u64 = words.next().and_then(number).ok_or_else(|| invalid("length"))?;
    let mut head = ResponseHead::new(200);
    head.fields.push_known(Known::ContentLength, length.to_string().as_bytes());
    if flags & get.gzip_flag != 0 {
        head.fields.push_known(Known::ContentEncoding, b"gzip");
    }
    Ok(MemcachedResponseHead { head, demux: MemcachedValue { left: length, seen: 0, surplus: false } })
}

/// Parses a decimal number; `None` for other texts, including those with a sign, and for numbers that exceed the type.
fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    let are_digits = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| are_digits)?.parse().ok()
}

/// Decoder of a memcached value of announced length and of the bytes after it.
pub(crate) struct MemcachedValue {
    /// Number of bytes of the value that have not been received yet.
    left: u64,
    /// Number of received bytes of `TRAILER`, which follows the value.
    seen: usize,
    /// True if unexpected bytes were received after the value.
    surplus: bool,
}

impl BodyDecoder for MemcachedValue {
    fn advance(&mut self, link: &mut Link, out: &mut PieceQueue) -> Result<bool, OriginError> {
        let taken = link.input.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if taken > 0 {
            out.push_back(link.input.split_to(taken).freeze());
            self.left -= taken as u64;
        }
        if self.left > 0 {
            return Ok(false);
        }
        let expected = &TRAILER[self.seen..];
        let come = link.input.len().min(expected.len());
        if link.input[..come] != expected[..come] {
            self.surplus = true;
            link.warn("memcached sent invalid trailer");
            return Ok(true);
        }
        link.input.advance(come);
        self.seen += come;
        self.surplus |= !link.input.is_empty();
        Ok(self.seen == TRAILER.len())
    }

    fn ends_at_close(&self) -> bool {
        false
    }

    fn is_clean(&self) -> bool {
        !self.surplus
    }

    fn left(&self) -> Option<u64> {
        Some(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(line: &str) -> Result<MemcachedResponseHead, OriginError> {
        begin_body(line.as_bytes(), &MemcachedGet::new(b"/a b", 2))
    }

    #[test]
    fn value_line_determines_status_length_and_encoding() {
        let answer = begun("VALUE /a%20b 0 12").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((answer.head.status, answer.demux.left), (200, 12));
        assert!(!answer.head.fields.has(Known::ContentEncoding));
        let answer = begun("VALUE /a%20b 3 12 77").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(answer.head.known(Known::ContentEncoding), Some(&b"gzip"[..]));
        let answer = begun("END").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((answer.head.status, answer.demux.left), (404, 0));
    }

    #[test]
    fn other_lines_are_no_answer() {
        for line in [
            "",
            "ERROR",
            "CLIENT_ERROR line too long",
            "VALUE /b 0 1",
            "VALUE /a%20b",
            "VALUE /a%20b 0",
            "VALUE /a%20b x 1",
            "VALUE /a%20b 0 +1",
            "VALUE /a%20b 0 99999999999999999999",
        ] {
            assert!(begun(line).is_err(), "{line}");
        }
    }
}
