//! `UTCTime` and `GeneralizedTime` (RFC 5280 section 4.1.2.5).

use crate::der::{Malformed, Reader, tag};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAY_S: i64 = 86_400;

/// A point in time, seconds since the Unix epoch.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<i64, Malformed> {
    let value = reader.value()?;
    let (year, rest) = match value.tag {
        tag::UTC_TIME => {
            let (year, rest) = number(value.content, 2)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        tag::GENERALIZED_TIME => number(value.content, 4)?,
        _ => return Err(Malformed),
    };
    let (month, rest) = number(rest, 2)?;
    let (day, rest) = number(rest, 2)?;
    let (hour, rest) = number(rest, 2)?;
    let (minute, rest) = number(rest, 2)?;
    let (second, rest) = number(rest, 2)?;
    let within =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if rest != b"Z" || !within {
        return Err(Malformed);
    }
    Ok(days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second)
}

fn number(bytes: &[u8], digits: usize) -> Result<(i64, &[u8]), Malformed> {
    let (head, rest) = bytes.split_at_checked(digits).ok_or(Malformed)?;
    let mut number = 0;
    for digit in head {
        if !digit.is_ascii_digit() {
            return Err(Malformed);
        }
        number = number * 10 + i64::from(digit - b'0');
    }
    Ok((number, rest))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar, counted in years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month < 3 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A time as OpenSSL shows it: `Jan  2 03:04:05 2026 GMT`.
pub fn show_time(seconds: i64) -> String {
    let (day, of_day) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12;
    let year = era * 400 + year_of_era + i64::from(month < 2);
    let name = MONTHS[month as usize];
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{name} {day_of_month:2} {hour:02}:{minute:02}:{second:02} {year} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(tag: u8, text: &str) -> Result<i64, Malformed> {
        let der = [&[tag, text.len() as u8], text.as_bytes()].concat();
        read(&mut Reader::new(&der))
    }

    #[test]
    fn times_are_read_and_shown() {
        assert_eq!(parsed(tag::UTC_TIME, "700101000000Z"), Ok(0));
        assert_eq!(parsed(tag::UTC_TIME, "491231235959Z"), Ok(2_524_607_999));
        assert_eq!(parsed(tag::UTC_TIME, "500101000000Z"), Ok(-631_152_000));
        assert_eq!(parsed(tag::GENERALIZED_TIME, "20240229120000Z"), Ok(1_709_208_000));
        assert_eq!(show_time(1_709_208_000), "Feb 29 12:00:00 2024 GMT");
        assert_eq!(show_time(0), "Jan  1 00:00:00 1970 GMT");
        assert_eq!(show_time(-1), "Dec 31 23:59:59 1969 GMT");
        assert_eq!(show_time(2_524_607_999), "Dec 31 23:59:59 2049 GMT");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "7001010000Z",
            "701301000000Z",
            "700132000000Z",
            "700101240000Z",
            "700101000000",
            "7001010000000Z",
        ] {
            assert_eq!(parsed(tag::UTC_TIME, text), Err(Malformed), "{text}");
        }
        assert_eq!(parsed(tag::OCTET_STRING, "700101000000Z"), Err(Malformed));
    }
}
