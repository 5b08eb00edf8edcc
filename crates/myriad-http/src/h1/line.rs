//! Parser of one field line, used for requests, responses and trailers (RFC 9112 §5).

use super::scan;
use crate::token::is_tchar;
use crate::{Known, ParseError};

/// Deviations from RFC 9112 that are accepted in a field line.
#[derive(Clone, Copy)]
pub(super) struct LineRules {
    /// True to accept control bytes in a value, except NUL, CR and LF.
    pub controls: bool,
    /// True to skip lines without a colon instead of rejecting the message.
    pub no_colon: bool,
    /// True to accept lines that end with LF instead of CRLF.
    pub bare_line_feed: bool,
    /// True to accept names with bytes that are invalid in a token (RFC 9110 §5.1), except white space and control
    /// bytes.
    pub no_token: bool,
}

/// Rules for request heads: LF is accepted as in nginx, everything else is strict.
pub(super) const REQUEST: LineRules =
    LineRules { controls: false, no_colon: false, bare_line_feed: true, no_token: false };
/// Rules for responses of origins: as lenient as nginx.
pub(super) const RESPONSE: LineRules =
    LineRules { controls: true, no_colon: true, bare_line_feed: true, no_token: true };
/// Rules for the trailers of chunked bodies: no deviation is accepted.
pub(super) const TRAILER: LineRules =
    LineRules { controls: false, no_colon: false, bare_line_feed: false, no_token: false };

/// Result of parsing a line of a head. Positions are offsets in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadLine {
    /// The line has not arrived completely.
    Partial,
    /// Empty line that terminates the head or trailer section, with the position after it.
    End(usize),
    /// Line without a colon that is skipped, with the position after it.
    Skip(usize),
    /// Field line, with the positions of its parts.
    Field(FieldLine),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldLine {
    pub name_end: usize,
    pub value_start: usize,
    pub value_end: usize,
    /// Position after the line and its terminator.
    pub next: usize,
    pub known: Option<Known>,
    /// True if the name contains `_` and otherwise only letters, digits and `-`.
    pub underscore: bool,
    /// True if the name contains a byte other than letters, digits, `-` and `_`; nginx calls such names invalid.
    pub odd: bool,
}

/// Parses the line at `start` by `rules`. Returns [`HeadLine::Partial`] if the line is incomplete.
#[inline]
pub(super) fn parse_line(buf: &[u8], start: usize, rules: LineRules) -> Result<HeadLine, ParseError> {
    match buf.get(start) {
        None => return Ok(HeadLine::Partial),
        Some(b'\r' | b'\n') => return empty_line(buf, start, rules),
        Some(b' ' | b'\t') => return Err(ParseError::ObsoleteFold),
        Some(_) => {}
    }
    let name_end = scan::find_colon_or_line_feed(buf, start);
    match buf.get(name_end) {
        None => return Ok(HeadLine::Partial),
        Some(b':') => {}
        Some(_) if rules.no_colon => return Ok(HeadLine::Skip(name_end + 1)),
        Some(_) => return Err(missing_colon_error(&buf[start..name_end], rules)),
    }
    let name = &buf[start..name_end];
    let known = Known::from_bytes(name);
    let class = if known.is_some() { 0 } else { class_of(name, rules)? };
    let mut value_start = name_end + 1;
    while let Some(b' ' | b'\t') = buf.get(value_start) {
        value_start += 1;
    }
    let Some((line_feed, mut value_end)) = value_line_end(buf, value_start, rules)? else {
        return Ok(HeadLine::Partial);
    };
    while value_end > value_start && matches!(buf[value_end - 1], b' ' | b'\t') {
        value_end -= 1;
    }
    Ok(HeadLine::Field(FieldLine {
        name_end,
        value_start,
        value_end,
        next: line_feed + 1,
        known,
        underscore: class & ODD == 0 && class & UNDERSCORE != 0,
        odd: class & ODD != 0,
    }))
}

/// Finds the end of a field line, given the position `start` of its value. Returns the position of the LF that
/// terminates the line, and the end of the value with its trailing white space; `None` if the line is incomplete. Fails
/// for a CR without LF, and for control bytes that `rules` do not allow.
#[inline]
fn value_line_end(buf: &[u8], start: usize, rules: LineRules) -> Result<Option<(usize, usize)>, ParseError> {
    let mut at = start;
    loop {
        at = scan::find_control(buf, at);
        match buf.get(at) {
            None => return Ok(None),
            Some(b'\r') => {
                return match buf.get(at + 1) {
                    Some(b'\n') => Ok(Some((at + 1, at))),
                    Some(_) => Err(ParseError::BareCarriageReturn),
                    None => Ok(None),
                };
            }
            Some(b'\n') if rules.bare_line_feed => return Ok(Some((at, at))),
            Some(b'\t') => at += 1,
            Some(0 | b'\n') => return Err(ParseError::ControlByte),
            Some(_) if rules.controls => at += 1,
            Some(_) => return Err(ParseError::ControlByte),
        }
    }
}

fn empty_line(buf: &[u8], start: usize, rules: LineRules) -> Result<HeadLine, ParseError> {
    match (buf[start], buf.get(start + 1)) {
        (b'\n', _) if rules.bare_line_feed => Ok(HeadLine::End(start + 1)),
        (b'\n', _) => Err(ParseError::ControlByte),
        (_, Some(b'\n')) => Ok(HeadLine::End(start + 2)),
        (_, Some(_)) => Err(ParseError::BareCarriageReturn),
        (_, None) => Ok(HeadLine::Partial),
    }
}

/// Returns the error for a field line without a colon: an invalid byte in the line is reported first.
fn missing_colon_error(line: &[u8], rules: LineRules) -> ParseError {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    class_of(line, rules).err().unwrap_or(ParseError::MissingColon)
}

const UNDERSCORE: u8 = 1;
const ODD: u8 = 2;
const NO_TOKEN: u8 = 4;
const REFUSED: u8 = 8;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut class = [ODD; 256];
    let mut byte = 0;
    while byte < 256 {
        let this = byte as u8;
        if this.is_ascii_alphanumeric() || this == b'-' {
            class[byte] = 0;
        } else if this == b'_' {
            class[byte] = UNDERSCORE;
        } else if this <= b' ' || this == 0x7F {
            class[byte] = REFUSED;
        } else if !is_tchar(this) {
            class[byte] = ODD | NO_TOKEN;
        }
        byte += 1;
    }
    class
}

/// Returns the union of the [`CLASS`] bits of all bytes of a field name. An empty name, or one with white space or
/// control bytes, is an error; so is a name that is not a token, unless `rules` accept it.
fn class_of(name: &[u8], rules: LineRules) -> Result<u8, ParseError> {
    let class = name.iter().fold(0, |class, &byte| class | CLASS[usize::from(byte)]);
    let refused = if rules.no_token { REFUSED } else { REFUSED | NO_TOKEN };
    if class & refused == 0 && !name.is_empty() {
        return Ok(class);
    }
    Err(match name.iter().find(|&&byte| CLASS[usize::from(byte)] == REFUSED) {
        Some(b'\r') => ParseError::BareCarriageReturn,
        // `None`: the name has no refused byte, so it is empty or not a token.
        Some(b' ' | b'\t') | None => ParseError::InvalidFieldName,
        Some(_) => ParseError::ControlByte,
    })
}
