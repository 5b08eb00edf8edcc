//! Dates in HTTP fields (RFC 9110 §5.6.7).

use crate::calendar::civil::{
    CivilTime, DAYS, MONTHS, format_clock, four_digits, overwrite_at, parse_number, seconds_from_epoch,
    two_digits,
};

/// Length of an HTTP date, in bytes.
pub const HTTP_DATE_LEN: usize = 29;

/// Formats seconds since the Unix epoch as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7). Times after the year 9999
/// are clamped to its last second.
pub fn format_http_date(seconds: u64) -> [u8; HTTP_DATE_LEN] {
    let time = CivilTime::from_unsigned_seconds(seconds);
    let mut out = *b"Sun, 06 Nov 1994 08:49:37 GMT";
    overwrite_at(&mut out, 0, DAYS[time.weekday]);
    overwrite_at(&mut out, 5, &two_digits(time.day));
    overwrite_at(&mut out, 8, MONTHS[time.month - 1]);
    overwrite_at(&mut out, 12, &four_digits(time.year));
    overwrite_at(&mut out, 17, &format_clock(time));
    out
}

/// Appends seconds since the Unix epoch as an HTTP date, such as `Sun, 06 Nov 1994 08:49:37 GMT`
/// ([`format_http_date`]).
pub fn write_http_date(seconds: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&format_http_date(seconds));
}

/// Formats seconds since the Unix epoch as nginx does in cookies: `Thu, 31-Dec-37 23:55:55 GMT`; from 2038 on with a
/// year of four digits.
pub fn format_cookie_date(seconds: u64) -> String {
    let http = format_http_date(seconds);
    let http = String::from_utf8_lossy(&http);
    let words: Vec<&str> = http.split(' ').collect();
    let [weekday, day, month, year, time, zone] = words[..] else { return http.into_owned() };
    let year = if year < "2038" { &year[2..] } else { year };
    format!("{weekday} {day}-{month}-{year} {time} {zone}")
}

/// Parses an HTTP date in one of the three formats of RFC 9110 §5.6.7. Returns seconds since the Unix epoch; `None` if
/// it is not a date or is before 1970.
///
/// A year of two digits means the year that is at most 50 years after, or less than 50 years before, `now_s`. Names are
/// case-insensitive, the day of the week is not checked against the date, and a second of 60 is accepted.
pub fn parse_http_date(value: &[u8], now_s: u64) -> Option<u64> {
    let value = value.trim_ascii();
    let (first, rest) = value.split_at_checked(3)?;
    if !DAYS.iter().any(|day| first.eq_ignore_ascii_case(&day[..])) {
        return None;
    }
    match rest {
        [b',', b' ', date @ ..] => parse_imf_fixdate(date),
        [b' ', date @ ..] => parse_asctime(date),
        _ => parse_rfc850(rest, now_s),
    }
}

/// Removes the suffix ` GMT`; `None` if it is missing. Ignores case, because RFC 9110 §5.6.7 recommends lenient
/// parsing.
fn strip_gmt(time: &[u8]) -> Option<&[u8]> {
    let (time, zone) = time.split_last_chunk::<4>()?;
    zone.eq_ignore_ascii_case(b" GMT").then_some(time)
}

/// Parses `06 Nov 1994 08:49:37 GMT`: the current format, after the name of the day; `None` if it is invalid.
fn parse_imf_fixdate(date: &[u8]) -> Option<u64> {
    let &[d1, d2, b' ', m1, m2, m3, b' ', y1, y2, y3, y4, b' ', ref time @ ..] = date else { return None };
    let year = parse_number(&[y1, y2, y3, y4])?;
    seconds_of(year, parse_month(&[m1, m2, m3])?, parse_number(&[d1, d2])?, strip_gmt(time)?)
}

/// Parses the obsolete format `Sunday, 06-Nov-94 08:49:37 GMT`, after the first three letters of the day; `None` if it
/// is invalid. The year is less than 50 years before `now_s`, and at most 50 years after.
fn parse_rfc850(rest: &[u8], now_s: u64) -> Option<u64> {
    let comma = rest.iter().position(|&byte| byte == b',')?;
    if comma > 6 || !rest[..comma].iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let &[b' ', d1, d2, b'-', m1, m2, m3, b'-', y1, y2, b' ', ref time @ ..] = &rest[comma + 1..] else {
        return None;
    };
    let this_year = CivilTime::from_unsigned_seconds(now_s).year;
    let mut year = this_year / 100 * 100 + parse_number(&[y1, y2])?;
    if year > this_year + 50 {
        year -= 100;
    } else if year + 50 <= this_year {
        // A year 50 or more years in the past is in the next century: "05" in 1998 is 2005.
        year += 100;
    }
    seconds_of(year, parse_month(&[m1, m2, m3])?, parse_number(&[d1, d2])?, strip_gmt(time)?)
}

/// Parses `Nov  6 08:49:37 1994`: the obsolete format of C's `asctime()`, after the name of the day; `None` if it is
/// invalid.
fn parse_asctime(date: &[u8]) -> Option<u64> {
    let &[m1, m2, m3, b' ', d1, d2, b' ', ref rest @ ..] = date else { return None };
    let (time, year) = rest.split_at_checked(8)?;
    let day = if d1 == b' ' { parse_number(&[d2])? } else { parse_number(&[d1, d2])? };
    let year = year.strip_prefix(b" ").filter(|year| year.len() == 4)?;
    seconds_of(parse_number(year)?, parse_month(&[m1, m2, m3])?, day, time)
}

fn seconds_of(year: usize, month: usize, day: usize, time: &[u8]) -> Option<u64> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = time else { return None };
    let time = [parse_number(&[h1, h2])?, parse_number(&[m1, m2])?, parse_number(&[s1, s2])?];
    u64::try_from(seconds_from_epoch([year, month, day], time)?).ok()
}

fn parse_month(name: &[u8]) -> Option<usize> {
    MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name)).map(|index| index + 1)
}

#[cfg(test)]
mod tests;
