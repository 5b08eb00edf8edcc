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
    let seconds = u64::try_from(seconds_from_epoch(date, time)?).ok()?;
    let zone = match rest.strip_prefix(b".") {
        Some(fraction) => {
            let end = fraction.iter().position(|byte| !byte.is_ascii_digit())?;
            &fraction[end..]
        }
        None => rest,
    };
    match zone {
        [b'Z' | b'z'] => Some(seconds),
        [sign @ (b'+' | b'-'), hours @ .., b':', _, _] if hours.len() == 2 => {
            let offset = (parse_number(hours)? * 3600 + parse_number(&zone[4..])? * 60) as u64;
            if *sign == b'+' { seconds.checked_sub(offset) } else { Some(seconds + offset) }
        }
        _ => None,
    }
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
        for text in
            ["2026-11-21", "2026-11-21T07:36:00", "2026-11-21T07:36:00.", "x", "2026-11-21T07:36:00+1"]
        {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }
}
