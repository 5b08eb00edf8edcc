//! Request heads (RFC 9112 §3, §5), interpreted like nginx where the RFC leaves a choice.

use super::line::{self, HeadLine};
use super::{HeadLimits, ParseStatus, scan};
use crate::uri::{parse_host, split_target};
use crate::{HttpVersion, Known, Method, ParseError, RequestHead};

/// Progress of [`resume_request`] in a request head that arrives in several pieces; starts as `default()`.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadScanState {
    /// Number of bytes of the head seen so far. All complete lines in them are parsed.
    scanned: usize,
    /// Position of the next line to parse.
    line_start: usize,
    /// Position of the request line, after any empty lines; `None` until the request line is parsed.
    head_start: Option<usize>,
}

/// Fields that may occur only once in a request. A repetition is rejected with 400, because implementations could use
/// different values.
const SINGLE: u128 = Known::Host.bit()
    | Known::IfModifiedSince.bit()
    | Known::IfUnmodifiedSince.bit()
    | Known::IfMatch.bit()
    | Known::IfNoneMatch.bit()
    | Known::IfRange.bit()
    | Known::ContentLength.bit()
    | Known::ContentRange.bit()
    | Known::TransferEncoding.bit()
    | Known::Expect.bit()
    | Known::Authorization.bit()
    | Known::ProxyAuthorization.bit();

/// Parses a request head at the start of `buf` into `out`.
///
/// `out` retains its memory, so a connection that reuses it does not allocate. After [`ParseStatus::Partial`] and after
/// an error, `out` contains the data parsed so far, for the access log. After an error in the request line, `out`
/// contains that line as received, up to the maximum length of a line.
#[inline]
pub fn parse_request(
    buf: &[u8],
    limits: &HeadLimits,
    out: &mut RequestHead,
) -> Result<ParseStatus, ParseError> {
    resume_request(buf, &mut HeadScanState::default(), limits, out)
}

/// Continues to parse a partial head. `buf` must start with the same bytes as in the previous call, followed by further
/// bytes; `progress` and `out` must be unchanged since then. A complete line is parsed only once.
pub fn resume_request(
    buf: &[u8],
    progress: &mut HeadScanState,
    limits: &HeadLimits,
    out: &mut RequestHead,
) -> Result<ParseStatus, ParseError> {
    if progress.scanned == 0 {
        out.clear();
    } else if !has_line_end(buf, progress.scanned) {
        progress.scanned = progress.scanned.max(buf.len());
        return limit_error(buf, progress, limits).map_or(Ok(ParseStatus::Partial), Err);
    }
    progress.scanned = buf.len();
    let result = read_lines(buf, progress, limits, out);
    copy_lines(buf, progress, out);
    match result {
        Ok(ParseStatus::Complete(next)) => {
            out.head_len = u32::try_from(out.fields.bytes().len()).map_err(|_| ParseError::HeaderTooLarge)?;
            out.wire_len = out.head_len;
            check_fields(out)?;
            Ok(ParseStatus::Complete(next))
        }
        other => other,
    }
}

fn has_line_end(buf: &[u8], from: usize) -> bool {
    buf.get(from..).is_some_and(|fresh| memchr::memchr(b'\n', fresh).is_some())
}

/// Appends the lines that were parsed since the last call to the buffer of `out`.
#[inline]
fn copy_lines(buf: &[u8], progress: &HeadScanState, out: &mut RequestHead) {
    let Some(head_start) = progress.head_start else { return };
    let copied = head_start + out.fields.bytes().len();
    if let Some(lines) = buf.get(copied..progress.line_start) {
        out.fields.extend_bytes(lines);
    }
}

fn read_lines(
    buf: &[u8],
    progress: &mut HeadScanState,
    limits: &HeadLimits,
    out: &mut RequestHead,
) -> Result<ParseStatus, ParseError> {
    let head_start = match progress.head_start {
        Some(head_start) => head_start,
        None => match read_request_line(buf, progress, limits, out)? {
            Some(head_start) => head_start,
            None => return Ok(ParseStatus::Partial),
        },
    };
    loop {
        let start = progress.line_start;
        let next = match line::parse_line(buf, start, line::REQUEST)? {
            HeadLine::Partial => {
                return limit_error(buf, progress, limits).map_or(Ok(ParseStatus::Partial), Err);
            }
            HeadLine::End(next) if next - head_start > limits.total => {
                return Err(ParseError::HeaderTooLarge);
            }
            HeadLine::End(next) => {
                progress.line_start = next;
                return Ok(ParseStatus::Complete(next));
            }
            HeadLine::Skip(next) => next,
            HeadLine::Field(field) => {
                let invalid = field.odd || (field.underscore && !limits.underscores_in_headers);
                if !(invalid && limits.ignore_invalid_headers) {
                    if out.fields.len() >= limits.fields {
                        return Err(ParseError::TooManyFields);
                    }
                    let name_len = field.name_end - start;
                    let value = field.value_start - head_start..field.value_end - head_start;
                    out.fields.add_entry(
                        field.known,
                        start - head_start,
                        name_len,
                        value.start,
                        value.end,
                    )?;
                }
                field.next
            }
        };
        if next - start > limits.line || next - head_start > limits.total {
            return Err(ParseError::HeaderTooLarge);
        }
        progress.line_start = next;
    }
}

/// Returns the error if an incomplete line or head has reached its size limit; `None` if not. As in nginx, the error is
/// detected once the buffer is full.
fn limit_error(buf: &[u8], progress: &HeadScanState, limits: &HeadLimits) -> Option<ParseError> {
    let line = buf.len().saturating_sub(progress.line_start);
    match progress.head_start {
        None if line >= limits.line => Some(ParseError::RequestLineTooLong),
        Some(head_start) if line >= limits.line || buf.len().saturating_sub(head_start) >= limits.total => {
            Some(ParseError::HeaderTooLarge)
        }
        _ => None,
    }
}

/// Parses the request line, after skipping empty lines. Returns the position at which it starts; `None` if it is
/// incomplete. A rejected line is stored in `out` for the access log.
fn read_request_line(
    buf: &[u8],
    progress: &mut HeadScanState,
    limits: &HeadLimits,
    out: &mut RequestHead,
) -> Result<Option<usize>, ParseError> {
    skip_empty_lines(buf, progress, limits)?;
    let start = progress.line_start;
    let error = match parse_request_line(buf, start, out) {
        Ok(Some(next)) if next - start <= limits.line => {
            progress.head_start = Some(start);
            progress.line_start = next;
            return Ok(Some(start));
        }
        Ok(Some(_)) => request_line_error(buf, start, limits),
        Ok(None) if limit_error(buf, progress, limits).is_some() => request_line_error(buf, start, limits),
        Ok(None) => return Ok(None),
        Err(error) => error,
    };
    store_rejected_line(buf.get(start..).unwrap_or_default(), limits, out);
    Err(error)
}

/// Returns the error for a request line that exceeds its limit: an invalid method if the line contains no space.
fn request_line_error(buf: &[u8], start: usize, limits: &HeadLimits) -> ParseError {
    let line = &buf[start..buf.len().min(start + limits.line)];
    if line.contains(&b' ') { ParseError::RequestLineTooLong } else { ParseError::InvalidMethod }
}

/// Stores a rejected request line in `out` for the access log, up to the maximum length of a line.
fn store_rejected_line(rest: &[u8], limits: &HeadLimits, out: &mut RequestHead) {
    let end =
        memchr::memchr2(b'\r', b'\n', rest).unwrap_or(rest.len()).min(limits.line).min(u32::MAX as usize);
    out.clear();
    out.fields.extend_bytes(&rest[..end]);
    out.line_len = end as u32;
}

/// Skips empty lines before a request line (RFC 9112 §2.2), up to the maximum length of a line in total. More of them
/// are an error.
fn skip_empty_lines(buf: &[u8], progress: &mut HeadScanState, limits: &HeadLimits) -> Result<(), ParseError> {
    loop {
        let at = progress.line_start;
        match (buf.get(at), buf.get(at + 1)) {
            (Some(b'\n'), _) => progress.line_start = at + 1,
            (Some(b'\r'), Some(b'\n')) => progress.line_start = at + 2,
            (Some(b'\r'), Some(_)) => return Err(ParseError::BareCarriageReturn),
            _ => return Ok(()),
        }
        if progress.line_start > limits.line {
            return Err(ParseError::HeaderTooLarge);
        }
    }
}

/// Parses `method SP target SP version` at `start`. Returns the position of the next line; `None` if the line is
/// incomplete. Ranges in `out` are relative to `start`.
fn parse_request_line(buf: &[u8], start: usize, out: &mut RequestHead) -> Result<Option<usize>, ParseError> {
    let mut method_end = start;
    while let Some(b'A'..=b'Z' | b'_' | b'-') = buf.get(method_end) {
        method_end += 1;
    }
    match buf.get(method_end) {
        Some(b' ') if method_end > start => {}
        // A CR without further bytes may be the start of an empty line.
        None | Some(b'\r') if method_end == start && buf.len() <= start + 1 => return Ok(None),
        None => return Ok(None),
        Some(_) => return Err(ParseError::InvalidMethod),
    }
    let target_start = skip_spaces(buf, method_end);
    let target_end = scan::find_space_or_control(buf, target_start);
    match buf.get(target_end) {
        None => return Ok(None),
        Some(b' ') => {}
        Some(b'\r' | b'\n') if target_end > target_start => return Err(ParseError::Http09),
        Some(_) => return Err(ParseError::InvalidTarget),
    }
    let version = parse_version(buf, skip_spaces(buf, target_end)).map_err(|error| match error {
        // As in nginx, the target is checked first, so that the preface of HTTP/2 is not reported as an unsupported
        // version.
        ParseError::UnsupportedVersion if buf[target_start..target_end] == *b"*" => ParseError::InvalidTarget,
        error => error,
    });
    let Some((version, line_end, next)) = version? else { return Ok(None) };
    // The other positions in the line are smaller.
    let line_len = u32::try_from(line_end - start).map_err(|_| ParseError::RequestLineTooLong)?;
    out.method = Method::from_bytes(&buf[start..method_end]);
    out.version = version;
    out.method_range = 0..(method_end - start) as u32;
    out.target_range = (target_start - start) as u32..(target_end - start) as u32;
    out.line_len = line_len;
    check_target(&buf[target_start..target_end], out.method)?;
    Ok(Some(next))
}

#[inline]
fn skip_spaces(buf: &[u8], mut at: usize) -> usize {
    while let Some(b' ') = buf.get(at) {
        at += 1;
    }
    at
}

/// Parses `HTTP/x.y` and the line terminator at `at`. Returns the version, the end of the line's text and the position
/// of the next line; `None` if more bytes are needed.
///
/// Spaces may follow the version, as in nginx. Other text instead of the version means that the target contains a
/// space.
#[inline]
fn parse_version(buf: &[u8], at: usize) -> Result<Option<(HttpVersion, usize, usize)>, ParseError> {
    match buf.get(at..at + 10) {
        Some(b"HTTP/1.1\r\n") => return Ok(Some((HttpVersion::Http11, at + 8, at + 10))),
        Some(b"HTTP/1.0\r\n") => return Ok(Some((HttpVersion::Http10, at + 8, at + 10))),
        _ => {}
    }
    let rest = buf.get(at..).unwrap_or_default();
    let prefix = rest.len().min(5);
    if rest[..prefix] != b"HTTP/"[..prefix] {
        return Err(if matches!(rest[0], b'\r' | b'\n') {
            ParseError::Http09
        } else {
            ParseError::InvalidTarget
        });
    }
    let Some((major, after)) = version_number(buf, at + 5)? else { return Ok(None) };
    match buf.get(after) {
        None => return Ok(None),
        Some(b'.') => {}
        Some(_) => return Err(ParseError::InvalidVersion),
    }
    let Some((_, minor_end)) = version_number(buf, after + 1)? else { return Ok(None) };
    let end = skip_spaces(buf, minor_end);
    let next = match (buf.get(end), buf.get(end + 1)) {
        (Some(b'\n'), _) => end + 1,
        (Some(b'\r'), Some(b'\n')) => end + 2,
        (Some(b'\r'), Some(_)) => return Err(ParseError::BareCarriageReturn),
        (Some(b'\r'), None) | (None, _) => return Ok(None),
        _ => return Err(ParseError::InvalidVersion),
    };
    match (major, &buf[after + 1..minor_end]) {
        (0, _) => Err(ParseError::InvalidVersion),
        (1, b"0") => Ok(Some((HttpVersion::Http10, end, next))),
        (1, _) => Ok(Some((HttpVersion::Http11, end, next))),
        _ => Err(ParseError::UnsupportedVersion),
    }
}

/// Parses a number of the HTTP version at `at`: one digit, or two without a leading zero. Returns the number and the
/// position after it; `None` if more bytes are needed.
fn version_number(buf: &[u8], at: usize) -> Result<Option<(u8, usize)>, ParseError> {
    match (buf.get(at), buf.get(at + 1), buf.get(at + 2)) {
        (Some(first @ b'0'..=b'9'), Some(second @ b'0'..=b'9'), third) => match third {
            Some(b'0'..=b'9') => Err(ParseError::InvalidVersion),
            _ if *first == b'0' => Err(ParseError::InvalidVersion),
            Some(_) => Ok(Some(((first - b'0') * 10 + (second - b'0'), at + 2))),
            None => Ok(None),
        },
        (Some(first @ b'0'..=b'9'), Some(_), _) => Ok(Some((first - b'0', at + 1))),
        (None, ..) | (Some(b'0'..=b'9'), None, _) => Ok(None),
        _ => Err(ParseError::InvalidVersion),
    }
}

/// Returns an error if the form of the request target is not valid for the method (RFC 9112 §3.2).
#[inline]
fn check_target(target: &[u8], method: Method) -> Result<(), ParseError> {
    if target.first() == Some(&b'/') && method != Method::Connect {
        return Ok(());
    }
    if method == Method::Connect {
        let authority = parse_host(target).map_err(|_| ParseError::InvalidTarget)?;
        return authority.port.map(|_| ()).ok_or(ParseError::InvalidTarget);
    }
    let parts = split_target(target).map_err(|_| ParseError::InvalidTarget)?;
    match parts.authority {
        None if target == b"*" && method == Method::Options => Ok(()),
        Some(authority) if parse_host(authority).is_ok() => Ok(()),
        _ => Err(ParseError::InvalidTarget),
    }
}

/// Rejects a request with repeated fields of [`SINGLE`], with an invalid `Host` or without a required one, and
/// normalizes `Host`.
pub(crate) fn check_fields(head: &mut RequestHead) -> Result<(), ParseError> {
    if head.fields.repeated_of(SINGLE) != 0 {
        return Err(ParseError::RepeatedField);
    }
    if !head.fields.has(Known::Host) && head.version != HttpVersion::Http10 {
        return Err(ParseError::MissingHost);
    }
    head.normalize_host()
}

#[cfg(test)]
mod tests;
