//! Response heads of origins, parsed as leniently as in nginx.

use super::line::{self, HeadLine};
use super::{HeadLimits, ParseStatus, scan};
use crate::{Fields, HttpVersion, ParseError, ResponseHead};

/// Parses a response head at the start of `buf` into `out`. Interim responses (1xx) are parsed like others.
///
/// As in nginx, field values may contain control bytes other than NUL, CR and LF, names may contain bytes that are
/// invalid in a token, lines may be terminated by LF alone, and a line without a colon is skipped. After an error, the
/// client gets a 502. A partial head is parsed again from its start, because most heads of origins arrive in one piece.
pub fn parse_response(
    buf: &[u8],
    limits: &HeadLimits,
    out: &mut ResponseHead,
) -> Result<ParseStatus, ParseError> {
    out.clear();
    let Some(line) = parse_status_line(buf)? else {
        return if buf.len() >= limits.line {
            Err(ParseError::HeaderTooLarge)
        } else {
            Ok(ParseStatus::Partial)
        };
    };
    out.status = line.status;
    out.version = line.version;
    out.reason.extend_from_slice(line.reason);
    let rest = HeadLimits { total: limits.total.saturating_sub(line.next), ..*limits };
    match parse_field_block(&buf[line.next..], &rest, &mut out.fields)? {
        ParseStatus::Complete(len) => Ok(ParseStatus::Complete(line.next + len)),
        ParseStatus::Partial => Ok(ParseStatus::Partial),
    }
}

/// Parses field lines at the start of `buf`, up to and including the empty line, and appends them to `out`.
///
/// The rules are those of [`parse_response`]. `out` only changes if the block is complete.
pub fn parse_field_block(
    buf: &[u8],
    limits: &HeadLimits,
    out: &mut Fields,
) -> Result<ParseStatus, ParseError> {
    read_block(buf, limits, line::RESPONSE, out)
}

/// Parses a block of field lines by `rules`, up to and including the empty line, into `out`, which only changes if the
/// block is complete.
pub(super) fn read_block(
    buf: &[u8],
    limits: &HeadLimits,
    rules: line::LineRules,
    out: &mut Fields,
) -> Result<ParseStatus, ParseError> {
    let before = out.mark();
    out.reserve_head();
    let result = read_block_lines(buf, limits, rules, out);
    match result {
        Ok(ParseStatus::Complete(next)) => out.extend_bytes(&buf[..next]),
        _ => out.rewind(before),
    }
    result
}

fn read_block_lines(
    buf: &[u8],
    limits: &HeadLimits,
    rules: line::LineRules,
    out: &mut Fields,
) -> Result<ParseStatus, ParseError> {
    let base = out.bytes().len();
    let mut start = 0;
    let mut count = 0;
    loop {
        let next = match line::parse_line(buf, start, rules)? {
            HeadLine::Partial if buf.len() - start >= limits.line || buf.len() >= limits.total => {
                return Err(ParseError::HeaderTooLarge);
            }
            HeadLine::Partial => return Ok(ParseStatus::Partial),
            HeadLine::End(next) if next > limits.total => return Err(ParseError::HeaderTooLarge),
            HeadLine::End(next) => return Ok(ParseStatus::Complete(next)),
            HeadLine::Skip(next) => next,
            HeadLine::Field(field) => {
                count += 1;
                if count > limits.fields {
                    return Err(ParseError::TooManyFields);
                }
                let (name_len, name_start) = (field.name_end - start, base + start);
                out.add_entry(
                    field.known,
                    name_start,
                    name_len,
                    base + field.value_start,
                    base + field.value_end,
                )?;
                field.next
            }
        };
        if next - start > limits.line || next > limits.total {
            return Err(ParseError::HeaderTooLarge);
        }
        start = next;
    }
}

struct StatusLine<'a> {
    version: HttpVersion,
    status: u16,
    reason: &'a [u8],
    next: usize,
}

/// Parses `HTTP/1.x SP 3DIGIT [SP reason]` (RFC 9112 §4); `None` if the line is incomplete.
fn parse_status_line(buf: &[u8]) -> Result<Option<StatusLine<'_>>, ParseError> {
    const INVALID: ParseError = ParseError::InvalidStatusLine;
    let prefix = buf.len().min(7);
    if buf[..prefix] != b"HTTP/1."[..prefix] {
        return Err(INVALID);
    }
    let Some((line, next)) = status_line_text(buf)? else { return Ok(None) };
    let version = match line.get(7) {
        Some(b'0') => HttpVersion::Http10,
        Some(b'1'..=b'9') => HttpVersion::Http11,
        _ => return Err(INVALID),
    };
    let after = line[8..].trim_ascii_start();
    if !line[8..].starts_with(b" ") {
        return Err(INVALID);
    }
    let (digits, rest) = after.split_at_checked(3).ok_or(INVALID)?;
    if !digits.iter().all(u8::is_ascii_digit) || digits[0] == b'0' {
        return Err(INVALID);
    }
    let status = digits.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'));
    let reason = match rest.first() {
        None => rest,
        // IIS sends statuses such as `403.1`, which nginx accepts.
        Some(b' ' | b'.') => rest[1..].trim_ascii(),
        Some(_) => return Err(INVALID),
    };
    Ok(Some(StatusLine { version, status, reason, next }))
}

/// Returns the text of the status line without its terminator, and the position of the next line; `None` if the line is
/// incomplete. Fails for control bytes other than tabs.
fn status_line_text(buf: &[u8]) -> Result<Option<(&[u8], usize)>, ParseError> {
    let mut end = 0;
    loop {
        end = scan::find_control(buf, end);
        match (buf.get(end), buf.get(end + 1)) {
            (None, _) | (Some(b'\r'), None) => return Ok(None),
            (Some(b'\n'), _) => return Ok(Some((&buf[..end], end + 1))),
            (Some(b'\r'), Some(b'\n')) => return Ok(Some((&buf[..end], end + 2))),
            (Some(b'\t'), _) => end += 1,
            _ => return Err(ParseError::InvalidStatusLine),
        }
    }
}

#[cfg(test)]
mod tests;
