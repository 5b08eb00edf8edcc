//! Dates in the format of RFC 3339.

use crate::calendar::civil::{parse_number, seconds_from_epoch};

/// Parses an RFC 3339 time such as `2026-11-21T07:36:00Z` (used, for example, by RFC 9773 renewal information), with an
/// optional fraction, which is ignored, and `Z` or an offset. Returns seconds since the Unix epoch; `None` if it is
/// invalid or before 1970.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (head, rest) = bytes.split_at_checked(19)?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !marks.iter().all(|(at, mark)| head[*at].to_ascii_uppercase() == *mark) {
        return None;
    }
    let part = |from: usize, to: usize| parse_number(&head[from..to]);
    let date = [part(0, 4)?, part(5, 7)?, part(8, 10)?];
    let time = [part(11, 13)?, part(14, 16)?, part(17, 19)?];
    let seconds = seconds_from_epoch(date, time)?;
    let zone = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let end = fraction.iter().position(|byte| !byte.is_ascii_digit()).filter(|end| *end > 0)?;
            &fraction[end..]
        }
        None => rest,
    };
    let offset = match zone {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), hours @ .., b':', _, _] if hours.len() == 2 => {
            let (hours, minutes) = (parse_number(hours)?, parse_number(&zone[4..])?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            let offset = (hours * 3600 + minutes * 60) as i64;
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return None,
    };
    u64::try_from(seconds - offset).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_authorities_are_read_with_fraction_and_offset() {
        let moment = Some(1_795_246_560);
        assert_eq!(parse_rfc3339("2026-11-21T07:36:00Z"), moment);
        assert_eq!(parse_rfc3339("2026-11-21T07:36:00.123456789Z"), moment);
        assert_eq!(parse_rfc3339("2026-11-21T08:36:00+01:00"), moment);
        assert_eq!(parse_rfc3339("2026-11-21T02:06:00-05:30"), moment);
        for text in [
            "2026-11-21",
            "2026-11-21T07:36:00",
            "2026-11-21T07:36:00.",
            "2026-11-21T07:36:00.Z",
            "x",
            "2026-11-21T07:36:00+1",
            "2026-11-21T07:36:00+24:00",
            "2026-11-21T07:36:00-00:60",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }

    #[test]
    fn offset_determines_whether_a_time_is_before_1970() {
        assert_eq!(parse_rfc3339("1969-12-31T23:30:00-01:00"), Some(1800));
        assert_eq!(parse_rfc3339("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(parse_rfc3339("1970-01-01T00:30:00+01:00"), None);
        assert_eq!(parse_rfc3339("1969-12-31T23:59:59Z"), None);
    }
}
