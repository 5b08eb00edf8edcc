//! Head that a CGI program writes before its body (RFC 3875 §6), parsed like nginx parses it from FastCGI.

use std::fmt;

use memchr::{memchr, memchr_iter, memchr2};
use myriad_http::Fields;
use myriad_http::head::{ResponseHead, reason_phrase};
use myriad_http::lines::each_line;
use myriad_http::token::is_tchar;

#[cfg(test)]
mod tests;

/// Number of header fields for which memory is reserved in a response head; sufficient for most heads.
const RESERVED_FIELDS: usize = 16;

/// Maximum number of header fields in a response head.
const MAX_FIELDS: usize = 1000;

/// Result of [`parse_head`] for the response of a CGI program.
#[derive(Clone, Debug)]
pub enum ParsedHead {
    /// The head is incomplete: call again with more bytes.
    Partial,
    /// Head with its length in bytes including the empty line. The body follows.
    Complete(Box<ResponseHead>, usize),
}

/// Reason why the response head of a CGI program is invalid, in nginx's words for the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadError {
    /// A line is not a valid field: its name is not a token (RFC 9110 §5.1), or its value contains NUL or a bare CR.
    InvalidHeader,
    /// `Status` is not a three-digit number from 200 to 999, or the status line is malformed.
    InvalidStatus,
    /// The head exceeds the buffer (`fastcgi_buffer_size`), has more than a thousand fields, or a field name exceeds
    /// [`Fields::MAX_NAME`].
    TooBig,
}

impl fmt::Display for HeadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidHeader => "upstream sent invalid header",
            Self::InvalidStatus => "upstream sent invalid status",
            Self::TooBig => "upstream sent too big header",
        })
    }
}

impl std::error::Error for HeadError {}

/// Parses the head at the start of the output of a CGI program. The head may have at most `limit` bytes.
///
/// Lines are terminated by LF or CRLF. `Status`, or a first line `HTTP/1.x NNN reason`, sets the status and is not
/// stored as a field. Without either, the status is 302 if the head contains `Location`, otherwise 200. A line that is
/// a valid name without a colon is skipped.
pub fn parse_head(bytes: &[u8], limit: usize) -> Result<ParsedHead, HeadError> {
    let Some(length) = head_length(bytes) else {
        return if bytes.len() < limit { Ok(ParsedHead::Partial) } else { Err(HeadError::TooBig) };
    };
    if length > limit {
        return Err(HeadError::TooBig);
    }
    let mut head = ResponseHead::new(0);
    head.fields = Fields::with_capacity(length, RESERVED_FIELDS);
    let mut status = None;
    for (index, line) in lines(&bytes[..length]).enumerate() {
        if index == 0 && line.starts_with(b"HTTP/") {
            status = Some(status_line(line)?);
            continue;
        }
        let Some((name, value)) = field(line)? else { continue };
        if name.eq_ignore_ascii_case(b"status") {
            // Like nginx, uses the first `Status` field.
            let parsed = status_value(value)?;
            status.get_or_insert(parsed);
        } else if head.fields.len() == MAX_FIELDS {
            return Err(HeadError::TooBig);
        } else {
            head.fields.try_push(name, value).map_err(|_| HeadError::TooBig)?;
        }
    }
    let (code, reason) = status.unwrap_or_else(|| implied_status(&head));
    head.status = code;
    head.reason = reason.to_vec();
    Ok(ParsedHead::Complete(Box::new(head), length))
}

/// Returns the length of the head, including its empty line; `None` if the head is incomplete.
fn head_length(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    for line_feed in memchr_iter(b'\n', bytes) {
        if matches!(&bytes[start..line_feed], b"" | b"\r") {
            return Some(line_feed + 1);
        }
        start = line_feed + 1;
    }
    None
}

/// Returns the lines before the empty line, without line terminators.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    each_line(head)
        .map(|line| line.strip_suffix(b"\n").unwrap_or(line))
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
}

/// Name and value of a header field.
type CgiField<'a> = (&'a [u8], &'a [u8]);

/// Parses a header line into name and value; `None` for a valid name without a colon.
fn field(line: &[u8]) -> Result<Option<CgiField<'_>>, HeadError> {
    let colon = memchr(b':', line);
    let (name, value) = match colon {
        Some(at) => (&line[..at], line[at + 1..].trim_ascii()),
        None => (line, &[][..]),
    };
    let valid = !name.is_empty() && name.iter().copied().all(is_tchar) && memchr2(0, b'\r', value).is_none();
    if !valid {
        return Err(HeadError::InvalidHeader);
    }
    Ok(colon.map(|_| (name, value)))
}

/// Returns the status and the reason of a value of `Status`, such as `404 Not Found`. Without a reason, returns the
/// standard reason phrase of the status. Fails unless the value is a three-digit status of at least 200, alone or
/// followed by a space.
fn status_value(value: &[u8]) -> Result<(u16, &[u8]), HeadError> {
    let (digits, rest) = value.split_first_chunk::<3>().ok_or(HeadError::InvalidStatus)?;
    if !digits.iter().all(u8::is_ascii_digit) || !(rest.is_empty() || rest[0] == b' ') {
        return Err(HeadError::InvalidStatus);
    }
    let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
    // A status below 200 would precede another head, which CGI does not support.
    if code < 200 {
        return Err(HeadError::InvalidStatus);
    }
    let reason = rest.trim_ascii();
    Ok((code, if reason.is_empty() { reason_phrase(code).as_bytes() } else { reason }))
}

/// Parses a status line such as `HTTP/1.1 404 Not Found`. Fails for versions other than HTTP/1, and if [`status_value`]
/// fails.
fn status_line(line: &[u8]) -> Result<(u16, &[u8]), HeadError> {
    let rest = line
        .strip_prefix(b"HTTP/1.")
        .and_then(|rest| rest.split_first())
        .and_then(|(minor, rest)| minor.is_ascii_digit().then_some(rest))
        .and_then(|rest| rest.strip_prefix(b" "))
        .ok_or(HeadError::InvalidStatus)?;
    if rest.iter().any(|byte| matches!(byte, 0 | b'\r')) {
        return Err(HeadError::InvalidStatus);
    }
    status_value(rest.trim_ascii())
}

fn implied_status(head: &ResponseHead) -> (u16, &'static [u8]) {
    let code = if head.fields.get(b"location").is_some() { 302 } else { 200 };
    (code, reason_phrase(code).as_bytes())
}
