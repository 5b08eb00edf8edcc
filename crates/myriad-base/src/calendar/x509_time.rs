//! Times in certificates: `UTCTime` and `GeneralizedTime` (RFC 5280 section 4.1.2.5).

use crate::calendar::civil::{CivilTime, MONTHS, format_clock, parse_number, seconds_from_epoch};
use crate::calendar::log_time::format_time_iso8601;

/// Number of digits of the year, which the ASN.1 tag of a time determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YearDigits {
    /// `UTCTime`: years 1950 to 2049.
    Two,
    /// `GeneralizedTime`: years 0 to 9999.
    Four,
}

/// Parses a time such as `261121073600Z`, with seconds and the zone `Z`. Returns seconds since the Unix epoch, negative
/// before 1970; `None` if it is invalid.
pub fn parse_x509_time(text: &[u8], year: YearDigits) -> Option<i64> {
    let digits = text.strip_suffix(b"Z")?;
    let (year, rest) = match year {
        YearDigits::Two => {
            let (year, rest) = digits.split_at_checked(2)?;
            let year = parse_number(year)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        YearDigits::Four => {
            let (year, rest) = digits.split_at_checked(4)?;
            (parse_number(year)?, rest)
        }
    };
    let rest: &[u8; 10] = rest.try_into().ok()?;
    let pair = |index: usize| parse_number(&rest[2 * index..2 * index + 2]);
    seconds_from_epoch([year, pair(0)?, pair(1)?], [pair(2)?, pair(3)?, pair(4)?])
}

/// Formats seconds since the Unix epoch as a `GeneralizedTime`: `20261121073600Z`.
pub fn format_generalized_time(seconds: u64) -> Vec<u8> {
    // `YYYY-MM-DDTHH:MM:SS+00:00`
    let text = format_time_iso8601(seconds, 0);
    let mut out: Vec<u8> = text[..19].iter().copied().filter(u8::is_ascii_digit).collect();
    out.push(b'Z');
    out
}

/// Formats seconds since the Unix epoch as OpenSSL does: `Jan  2 03:04:05 2026 GMT`.
pub fn show_x509_time(seconds: i64) -> String {
    let time = CivilTime::from_epoch_seconds(seconds);
    let (month, clock) = (MONTHS[time.month - 1], format_clock(time));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{} {:2} {} {} GMT", text(month), time.day, text(&clock), time.year)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(text: &str) -> Option<i64> {
        parse_x509_time(text.as_bytes(), YearDigits::Two)
    }

    fn generalized(text: &str) -> Option<i64> {
        parse_x509_time(text.as_bytes(), YearDigits::Four)
    }

    #[test]
    fn times_are_read_and_shown() {
        assert_eq!(utc("700101000000Z"), Some(0));
        assert_eq!(utc("491231235959Z"), Some(2_524_607_999));
        assert_eq!(utc("500101000000Z"), Some(-631_152_000));
        assert_eq!(utc("261121073600Z"), Some(1_795_246_560));
        assert_eq!(utc("991231235959Z"), Some(946_684_799));
        assert_eq!(generalized("20240229120000Z"), Some(1_709_208_000));
        assert_eq!(generalized("20261121073600Z"), Some(1_795_246_560));
        assert_eq!(format_generalized_time(1_795_246_560), b"20261121073600Z");
        for (seconds, shown) in [
            (1_709_208_000, "Feb 29 12:00:00 2024 GMT"),
            (0, "Jan  1 00:00:00 1970 GMT"),
            (-1, "Dec 31 23:59:59 1969 GMT"),
            (2_524_607_999, "Dec 31 23:59:59 2049 GMT"),
            (generalized("00010203040506Z").unwrap(), "Feb  3 04:05:06 1 GMT"),
        ] {
            assert_eq!(show_x509_time(seconds), shown);
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "Z",
            "7001010000Z",
            "701301000000Z",
            "700132000000Z",
            "700101240000Z",
            "700101000000",
            "7001010000000Z",
            "7001010000xxZ",
            "26112107360xZ",
            "+10101000000Z",
        ] {
            assert_eq!(utc(text), None, "{text}");
        }
        assert_eq!(generalized("260101000000Z"), None);
    }

    #[test]
    fn days_that_a_month_has_not_are_refused_as_openssl_refuses_them() {
        assert_eq!(utc("250229000000Z"), None);
        assert_eq!(generalized("20260431000000Z"), None);
    }
}
