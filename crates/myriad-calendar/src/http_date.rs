//! Dates of HTTP fields (RFC 9110 §5.6.7).

use crate::civil::{Civil, DAYS, MONTHS, clock, four, number, put, seconds_to, two};

/// The length of an HTTP date.
pub const HTTP_DATE_LEN: usize = 29;

/// `Sun, 06 Nov 1994 08:49:37 GMT` of seconds since the epoch (RFC 9110 §5.6.7); times after the year 9999 read as
/// its last second.
pub fn format_http_date(seconds: u64) -> [u8; HTTP_DATE_LEN] {
    let time = Civil::since_epoch(seconds);
    let mut out = *b"Sun, 06 Nov 1994 08:49:37 GMT";
    put(&mut out, 0, DAYS[time.weekday]);
    put(&mut out, 5, &two(time.day));
    put(&mut out, 8, MONTHS[time.month - 1]);
    put(&mut out, 12, &four(time.year));
    put(&mut out, 17, &clock(time));
    out
}

/// Appends [`format_http_date`].
pub fn write_http_date(seconds: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&format_http_date(seconds));
}

/// A date as nginx writes it in cookies: `Thu, 31-Dec-37 23:55:55 GMT`, from 2038 on with all digits of the year.
pub fn format_cookie_date(seconds: u64) -> String {
    let http = format_http_date(seconds);
    let http = String::from_utf8_lossy(&http);
    let words: Vec<&str> = http.split(' ').collect();
    let [weekday, day, month, year, time, zone] = words[..] else { return http.into_owned() };
    let year = if year < "2038" { &year[2..] } else { year };
    format!("{weekday} {day}-{month}-{year} {time} {zone}")
}

/// Seconds since the epoch of an HTTP date in any of the three formats of RFC 9110 §5.6.7; a two-digit year that
/// would be more than 50 years after `now_s` is of the century before. `None` if it is no date or before 1970.
///
/// Names of days and months are read in any case, the day of the week is not compared with the date, and a second of
/// 60 is a leap second.
pub fn parse_http_date(value: &[u8], now_s: u64) -> Option<u64> {
    let value = value.trim_ascii();
    let (first, rest) = value.split_at_checked(3)?;
    if !DAYS.iter().any(|day| first.eq_ignore_ascii_case(&day[..])) {
        return None;
    }
    match rest {
        [b',', b' ', date @ ..] => imf_fixdate(date),
        [b' ', date @ ..] => asctime(date),
        _ => rfc850(rest, now_s),
    }
}

/// Takes ` GMT` off, in whatever case (RFC 9110 §5.6.7 wants recipients to be lenient).
fn without_zone(time: &[u8]) -> Option<&[u8]> {
    let (time, zone) = time.split_last_chunk::<4>()?;
    zone.eq_ignore_ascii_case(b" GMT").then_some(time)
}

/// `06 Nov 1994 08:49:37 GMT`, as all senders write now.
fn imf_fixdate(date: &[u8]) -> Option<u64> {
    let &[d1, d2, b' ', m1, m2, m3, b' ', y1, y2, y3, y4, b' ', ref time @ ..] = date else { return None };
    let year = number(&[y1, y2, y3, y4])?;
    seconds(year, month(&[m1, m2, m3])?, number(&[d1, d2])?, without_zone(time)?)
}

/// `day, 06-Nov-94 08:49:37 GMT` behind the first three letters of the day, obsolete.
fn rfc850(rest: &[u8], now_s: u64) -> Option<u64> {
    let comma = rest.iter().position(|&byte| byte == b',')?;
    if comma > 6 || !rest[..comma].iter().all(u8::is_ascii_alphabetic) {
        return None;
    }
    let &[b' ', d1, d2, b'-', m1, m2, m3, b'-', y1, y2, b' ', ref time @ ..] = &rest[comma + 1..] else {
        return None;
    };
    let this_year = Civil::since_epoch(now_s).year;
    let mut year = this_year / 100 * 100 + number(&[y1, y2])?;
    if year > this_year + 50 {
        year -= 100;
    } else if year + 50 <= this_year {
        // A year far behind is the nearer one of the next century: "05" in 1998 is 2005.
        year += 100;
    }
    seconds(year, month(&[m1, m2, m3])?, number(&[d1, d2])?, without_zone(time)?)
}

/// `Nov  6 08:49:37 1994`, of C's `asctime()`, obsolete.
fn asctime(date: &[u8]) -> Option<u64> {
    let &[m1, m2, m3, b' ', d1, d2, b' ', ref rest @ ..] = date else { return None };
    let (time, year) = rest.split_at_checked(8)?;
    let day = if d1 == b' ' { number(&[d2])? } else { number(&[d1, d2])? };
    let year = year.strip_prefix(b" ").filter(|year| year.len() == 4)?;
    seconds(number(year)?, month(&[m1, m2, m3])?, day, time)
}

fn seconds(year: usize, month: usize, day: usize, time: &[u8]) -> Option<u64> {
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = time else { return None };
    let time = [number(&[h1, h2])?, number(&[m1, m2])?, number(&[s1, s2])?];
    u64::try_from(seconds_to([year, month, day], time)?).ok()
}

fn month(name: &[u8]) -> Option<usize> {
    MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name)).map(|index| index + 1)
}

#[cfg(test)]
mod tests;
