//! `Content-Range` (RFC 9110 §14.4), parsed as in nginx's slice module.

use std::ops::Range;

use myriad_base::digits::decimal;

/// Parsed `Content-Range` of a 206 response: the part of a representation that it contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// Byte positions of the part in the representation; the end is exclusive.
    pub range: Range<u64>,
    /// Length of the complete representation in bytes; `None` if the origin sent `*` (unknown).
    pub complete: Option<u64>,
}

impl ContentRange {
    /// Parses `bytes first-last/complete`; `None` for any other value, such as `bytes */length` of a 416 response, and
    /// for an invalid range.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let rest = value.get(..6).filter(|unit| unit.eq_ignore_ascii_case(b"bytes ")).map(|_| &value[6..])?;
        let text = std::str::from_utf8(rest).ok()?;
        let (range, complete) = text.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let end = number(last)?.checked_add(1)?;
        let complete = match complete.trim_matches(' ') {
            "*" => None,
            digits => Some(number(digits)?),
        };
        let range = number(first)?..end;
        let sound = range.start < range.end && complete.is_none_or(|complete| range.end <= complete);
        sound.then_some(Self { range, complete })
    }
}

/// Parses a decimal number, with optional spaces around it; `None` for anything else.
fn number(text: &str) -> Option<u64> {
    decimal(text.trim_matches(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_with_and_without_the_length_of_the_whole() {
        let of = |range, complete| Some(ContentRange { range, complete });
        assert_eq!(ContentRange::parse(b"bytes 0-1/10"), of(0..2, Some(10)));
        assert_eq!(ContentRange::parse(b"bytes  2 - 3 / 4 "), of(2..4, Some(4)));
        assert_eq!(ContentRange::parse(b"bytes 5-5/*"), of(5..6, None));
    }

    #[test]
    fn what_is_no_part_of_a_whole_is_refused() {
        for value in [
            &b"bytes"[..],
            b"bytes */10",
            b"bytes 0-1",
            b"bytes 3-1/10",
            b"bytes 0-10/10",
            b"bytes -1/10",
            b"bytes +0-1/10",
            b"bytes 0-18446744073709551615/*",
            b"bytes 0-1/10x",
            b"items 0-1/10",
            b"",
        ] {
            assert_eq!(ContentRange::parse(value), None, "{}", value.escape_ascii());
        }
    }
}
