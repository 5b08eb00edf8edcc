//! Times as certificates and authorities write them, to seconds since the epoch and back.

/// Days from March of the year 0 to January 1970.
const EPOCH: u64 = 719_468;

/// The seconds of a date and a time of day in UTC; `None` where there is no such day or moment. From 1970 on.
pub fn from_civil(year: u64, month: u64, day: u64, [hour, minute, second]: [u64; 3]) -> Option<u64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days_in_month = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        _ => return None,
    };
    let exists = (1970..=9999).contains(&year) && (1..=days_in_month).contains(&day);
    if !exists || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Years begin in March, so that the day that comes and goes is the last one.
    let shifted = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + day_of_year;
    Some((days - EPOCH) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// `UTCTime`, `GeneralizedTime` of a certificate (RFC 5280 section 4.1.2.5): seconds are always there, and the zone is `Z`.
pub(crate) fn from_x509(text: &[u8], four_digit_year: bool) -> Option<u64> {
    let digits = text.strip_suffix(b"Z")?;
    let year_digits = if four_digit_year { 4 } else { 2 };
    if digits.len() != year_digits + 10 {
        return None;
    }
    let mut year = number(&digits[..year_digits])?;
    if !four_digit_year {
        year += if year < 50 { 2000 } else { 1900 };
    }
    let pair = |index: usize| number(digits.get(year_digits + 2 * index..year_digits + 2 * index + 2)?);
    from_civil(year, pair(0)?, pair(1)?, [pair(2)?, pair(3)?, pair(4)?])
}

/// A time by RFC 3339, as in renewal information (RFC 9773): `2026-11-21T07:36:00Z`, with a fraction or an offset too.
pub fn from_rfc3339(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (head, rest) = bytes.split_at_checked(19)?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    if !marks.iter().all(|(at, mark)| head[*at].to_ascii_uppercase() == *mark) {
        return None;
    }
    let part = |from: usize, to: usize| number(&head[from..to]);
    let time = [part(11, 13)?, part(14, 16)?, part(17, 19)?];
    let seconds = from_civil(part(0, 4)?, part(5, 7)?, part(8, 10)?, time)?;
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
            let offset = number(hours)? * 3600 + number(&zone[4..])? * 60;
            if *sign == b'+' { seconds.checked_sub(offset) } else { Some(seconds + offset) }
        }
        _ => None,
    }
}

/// `GeneralizedTime` for a certificate.
pub(crate) fn to_x509(seconds: u64) -> Vec<u8> {
    // `YYYY-MM-DDTHH:MM:SS+00:00`
    let text = myriad_http::date::format_time_iso8601(seconds, 0);
    let mut out: Vec<u8> = text[..19].iter().copied().filter(u8::is_ascii_digit).collect();
    out.push(b'Z');
    out
}

fn number(digits: &[u8]) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.len() <= 4 && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_as_the_calendar_has_them() {
        assert_eq!(from_civil(1970, 1, 1, [0, 0, 0]), Some(0));
        assert_eq!(from_civil(2000, 2, 29, [12, 0, 0]), Some(951_825_600));
        assert_eq!(from_civil(2026, 11, 21, [7, 36, 0]), Some(1_795_246_560));
        for (year, month, day) in [(2025, 2, 29), (1900, 1, 1), (2026, 13, 1), (2026, 4, 31), (2026, 1, 0)] {
            assert_eq!(from_civil(year, month, day, [0, 0, 0]), None, "{year}-{month}-{day}");
        }
        assert_eq!(from_civil(2026, 1, 1, [24, 0, 0]), None);
    }

    #[test]
    fn times_of_certificates_are_read_and_written() {
        assert_eq!(from_x509(b"261121073600Z", false), Some(1_795_246_560));
        assert_eq!(from_x509(b"20261121073600Z", true), Some(1_795_246_560));
        assert_eq!(to_x509(1_795_246_560), b"20261121073600Z");
        assert_eq!(from_x509(b"991231235959Z", false), Some(946_684_799));
        for text in [&b"2611210736Z"[..], b"261121073600", b"26112107360xZ", b"", b"Z"] {
            assert_eq!(from_x509(text, false), None);
        }
    }

    #[test]
    fn times_of_authorities_are_read_with_fraction_and_offset() {
        let moment = Some(1_795_246_560);
        assert_eq!(from_rfc3339("2026-11-21T07:36:00Z"), moment);
        assert_eq!(from_rfc3339("2026-11-21T07:36:00.123456789Z"), moment);
        assert_eq!(from_rfc3339("2026-11-21T08:36:00+01:00"), moment);
        assert_eq!(from_rfc3339("2026-11-21T02:06:00-05:30"), moment);
        for text in
            ["2026-11-21", "2026-11-21T07:36:00", "2026-11-21T07:36:00.", "x", "2026-11-21T07:36:00+1"]
        {
            assert_eq!(from_rfc3339(text), None, "{text}");
        }
    }
}
