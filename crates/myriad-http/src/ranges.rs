//! Byte ranges (RFC 9110 §14), parsed as in nginx.

use std::ops::Range;

use smallvec::SmallVec;

/// Response to a request with a `Range` field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeAction {
    /// Send the complete representation: the unit is not bytes, there are more than `max_ranges` satisfiable ranges,
    /// several ranges together exceed the length of the representation (as [`parse_ranges`] counts them), or the
    /// representation is empty and a range starts at 0 or is a suffix.
    Ignore,
    /// Send 416 with `Content-Range: bytes */length`: the field is malformed, or all its ranges are empty or
    /// outside the representation.
    Unsatisfiable,
    /// Send 206 with these ranges in the requested order; several ranges form a `multipart/byteranges` response.
    Satisfiable(SmallVec<[Range<u64>; 2]>),
}

/// Value of `max_ranges` if the directive is not set.
pub const UNLIMITED: usize = usize::MAX;

/// Parses the value of a `Range` field for a representation of `length` bytes. `max_ranges` is nginx's directive: a
/// field with more satisfiable ranges is ignored, and 0 disables ranges.
///
/// As in nginx, a malformed value leads to 416, and another unit is ignored. Ranges outside the representation are
/// dropped if at least one other remains. If the representation is empty, a field with a range from byte 0 or with a
/// suffix is ignored. Several ranges of more than `length` bytes in total are ignored (RFC 9110 §14.2 permits this,
/// because such a request is broken or an attack). With [`UNLIMITED`], each of several ranges counts 256 bytes more,
/// for the head of its part; the first 4096 of these bytes are not counted.
pub fn parse_ranges(value: &[u8], length: u64, max_ranges: usize) -> RangeAction {
    let unit = value.get(..6).is_some_and(|unit| unit.eq_ignore_ascii_case(b"bytes="));
    if !unit || max_ranges == 0 {
        return RangeAction::Ignore;
    }
    let mut ranges = SmallVec::new();
    let mut total: u64 = 0;
    for member in value[6..].split(|&byte| byte == b',') {
        let Some(range) = parse_range(member.trim_ascii(), length) else { return RangeAction::Unsatisfiable };
        if range.is_empty() {
            // Only an empty representation, or a suffix of an empty one, has an empty range at 0.
            if range.start == 0 {
                return RangeAction::Ignore;
            }
            continue;
        }
        if ranges.len() >= max_ranges {
            return RangeAction::Ignore;
        }
        total = total.saturating_add(range.end - range.start);
        ranges.push(range);
    }
    let heads = if max_ranges == UNLIMITED { (ranges.len() as u64 * 256).saturating_sub(4096) } else { 0 };
    match ranges.len() {
        0 => RangeAction::Unsatisfiable,
        1 => RangeAction::Satisfiable(ranges),
        _ if total > length || total.saturating_add(heads) > length => RangeAction::Ignore,
        _ => RangeAction::Satisfiable(ranges),
    }
}

/// Parses `first-last`, `first-` or `-suffix` to a range of bytes within `length`; `None` if it is malformed. The range
/// is empty if it is outside the representation, or its last byte is before its first.
fn parse_range(member: &[u8], length: u64) -> Option<Range<u64>> {
    let dash = memchr::memchr(b'-', member)?;
    let (first, last) = (member[..dash].trim_ascii(), member[dash + 1..].trim_ascii());
    if first.is_empty() {
        let suffix = number(last)?;
        return Some(length.saturating_sub(suffix)..length);
    }
    let start = number(first)?;
    let end = if last.is_empty() { length } else { number(last)?.saturating_add(1).min(length) };
    Some(start..end.max(start))
}

/// Parses a decimal number below 2⁶³; `None` for anything else.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits
        .iter()
        .try_fold(0_i64, |value, digit| value.checked_mul(10)?.checked_add(i64::from(digit - b'0')))?;
    Some(value as u64)
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "one range is meant")]
mod tests {
    use super::*;

    fn satisfied(value: &str, length: u64) -> Vec<Range<u64>> {
        match parse_ranges(value.as_bytes(), length, UNLIMITED) {
            RangeAction::Satisfiable(ranges) => ranges.to_vec(),
            other => panic!("{value}: {other:?}"),
        }
    }

    fn read(value: &str) -> RangeAction {
        parse_ranges(value.as_bytes(), 1000, UNLIMITED)
    }

    #[test]
    fn the_three_forms_are_read() {
        assert_eq!(satisfied("bytes=0-499", 1000), [0..500]);
        assert_eq!(satisfied("bytes=500-", 1000), [500..1000]);
        assert_eq!(satisfied("bytes=-100", 1000), [900..1000]);
        assert_eq!(satisfied("bytes=0-0", 1000), [0..1]);
        assert_eq!(satisfied("bytes=999-999", 1000), [999..1000]);
        assert_eq!(satisfied("Bytes=0-0,-1", 1000), [0..1, 999..1000]);
        assert_eq!(satisfied("bytes= 0 - 4 , 10 - ", 20), [0..5, 10..20]);
    }

    #[test]
    fn ends_beyond_the_representation_are_cut() {
        assert_eq!(satisfied("bytes=990-2000", 1000), [990..1000]);
        assert_eq!(satisfied("bytes=-5000", 1000), [0..1000]);
        assert_eq!(satisfied("bytes=0-9223372036854775807", 1000), [0..1000]);
    }

    #[test]
    fn ranges_outside_are_left_out_while_one_is_left() {
        assert_eq!(satisfied("bytes=2000-3000, 0-1", 1000), [0..2]);
        assert_eq!(read("bytes=1000-"), RangeAction::Unsatisfiable);
        assert_eq!(read("bytes=2000-3000,5000-"), RangeAction::Unsatisfiable);
        assert_eq!(read("bytes=-0"), RangeAction::Unsatisfiable);
        assert_eq!(read("bytes=7-3"), RangeAction::Unsatisfiable);
    }

    #[test]
    fn malformed_values_are_unsatisfiable() {
        for value in [
            "bytes=",
            "bytes=a-b",
            "bytes=1",
            "bytes=--1",
            "bytes=1-2-3",
            "bytes=0-1,",
            "bytes=,0-1",
            "bytes=0x1-2",
            "bytes=-",
            "bytes=99999999999999999999-",
            "bytes=0-99999999999999999999",
        ] {
            assert_eq!(read(value), RangeAction::Unsatisfiable, "{value}");
        }
    }

    #[test]
    fn other_units_and_disabled_ranges_are_ignored() {
        assert_eq!(read("pages=1-2"), RangeAction::Ignore);
        assert_eq!(read("bytes 0-1"), RangeAction::Ignore);
        assert_eq!(read(""), RangeAction::Ignore);
        assert_eq!(parse_ranges(b"bytes=0-1", 1000, 0), RangeAction::Ignore);
    }

    #[test]
    fn too_many_or_too_much_is_answered_with_the_whole() {
        assert_eq!(parse_ranges(b"bytes=0-1,2-3", 1000, 1), RangeAction::Ignore);
        assert_eq!(read("bytes=0-,0-,0-"), RangeAction::Ignore);
        assert_eq!(read("bytes=0-600,400-"), RangeAction::Ignore);
        assert_eq!(satisfied("bytes=0-499,400-899", 1000), [0..500, 400..900]);
    }

    #[test]
    fn an_empty_representation_is_sent_whole() {
        assert_eq!(parse_ranges(b"bytes=0-", 0, 10), RangeAction::Ignore);
        assert_eq!(parse_ranges(b"bytes=-1", 0, 10), RangeAction::Ignore);
        assert_eq!(parse_ranges(b"bytes=5-", 0, 10), RangeAction::Unsatisfiable);
    }

    #[test]
    fn many_tiny_ranges_cost_more_than_the_whole() {
        let value = format!("bytes={}", vec!["0-0"; 40].join(","));
        assert_eq!(parse_ranges(value.as_bytes(), 1000, UNLIMITED), RangeAction::Ignore);
        assert!(matches!(parse_ranges(value.as_bytes(), 100_000, UNLIMITED), RangeAction::Satisfiable(_)));
        assert!(matches!(parse_ranges(value.as_bytes(), 1000, 40), RangeAction::Satisfiable(_)));
        assert_eq!(parse_ranges(value.as_bytes(), 1000, 39), RangeAction::Ignore);
    }

    #[test]
    fn random_values_give_ranges_within_the_representation() {
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            for _ in 0..100 {
                let text: String = (0..random.usize(..12))
                    .map(|_| *random.choice(&['0', '9', '-', ',', ' ', '5']).unwrap())
                    .collect();
                let length = random.u64(..200);
                if let RangeAction::Satisfiable(ranges) =
                    parse_ranges(format!("bytes={text}").as_bytes(), length, 8)
                {
                    assert!(
                        ranges.iter().all(|range| range.start < range.end && range.end <= length),
                        "{text}"
                    );
                    assert!(
                        ranges.iter().map(|range| range.end - range.start).sum::<u64>() <= length,
                        "{text}"
                    );
                }
            }
        }
    }
}
