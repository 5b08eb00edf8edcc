//! Parsing and formatting of times in logs and on the command line. Parsed times are seconds since the Unix epoch.

use myriad_base::calendar::{CivilTime, parse_rfc3339};

const MONTHS: [&[u8]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// Parses `24/Nov/2026:17:06:09 +0100` (`$time_local`) to seconds since the Unix epoch; `None` for other texts.
pub(crate) fn local(text: &[u8]) -> Option<u64> {
    if text.len() != 26 || text[2] != b'/' || text[6] != b'/' || text[11] != b':' {
        return None;
    }
    let month = 1 + MONTHS.iter().position(|month| *month == &text[3..6])? as u64;
    let date = (number(&text[7..11])?, month, number(&text[..2])?);
    let offset = 3600 * number(&text[22..24])? + 60 * number(&text[24..26])?;
    let seconds = seconds(date, clock(&text[12..20])?)?;
    if text[21] == b'-' { seconds.checked_add(offset) } else { seconds.checked_sub(offset) }
}

/// Parses `2026-11-24T17:06:09+01:00` (`$time_iso8601`), with or without a fraction, to seconds since the Unix epoch;
/// `None` for other texts.
pub(crate) fn iso8601(text: &[u8]) -> Option<u64> {
    parse_rfc3339(str::from_utf8(text).ok()?)
}

/// Parses `1764003969.123` (`$msec`) to whole seconds; `None` if the part before the `.` is not a number.
pub(crate) fn epoch(text: &[u8]) -> Option<u64> {
    number(text.split(|byte| *byte == b'.').next()?)
}

/// Parses the local time `2026/11/24 17:06:09` of the error log to seconds since the Unix epoch; `None` for other
/// texts. `offset_minutes` returns the offset from UTC at a time.
pub(crate) fn error_log(text: &[u8], offset_minutes: impl Fn(u64) -> i32) -> Option<u64> {
    if text.len() != 19 || text[4] != b'/' || text[7] != b'/' || text[10] != b' ' {
        return None;
    }
    let date = (number(&text[..4])?, number(&text[5..7])?, number(&text[8..10])?);
    let seconds = seconds(date, clock(&text[11..])?)?;
    seconds.checked_add_signed(-60 * i64::from(offset_minutes(seconds)))
}

/// Parses the argument of `--since` or `--until`: `now`, a duration before now (`30s`, `90m`, `2h`, `3d`, `1w`), a day
/// (`2026-11-24`, `today`, `yesterday`), a local time (`2026-11-24 17:06`, or `17:06` for today), or a time with a zone
/// (RFC 3339). A date may also be written with `/`, a local time with seconds. `now_s` is the present time;
/// `offset_minutes` returns the offset of local time from UTC at a time. Returns `None` for other texts.
pub fn moment(text: &str, now_s: u64, offset_minutes: impl Fn(u64) -> i32) -> Option<u64> {
    let shift = |seconds: u64| seconds.checked_add_signed(-60 * i64::from(offset_minutes(seconds)));
    let here = now_s.checked_add_signed(60 * i64::from(offset_minutes(now_s)))?;
    let today = here - here % 86_400;
    match text {
        "now" => return Some(now_s),
        "today" => return shift(today),
        "yesterday" => return shift(today.checked_sub(86_400)?),
        _ => {}
    }
    if let Some(seconds) = ago(text) {
        return now_s.checked_sub(seconds);
    }
    if let Some(moment) = parse_rfc3339(text) {
        return Some(moment);
    }
    let (day, time) = match text.split_once([' ', 'T']) {
        Some((day, time)) => (day, time),
        None if text.contains(':') => ("", text),
        None if text.is_empty() => return None,
        None => (text, "00:00"),
    };
    let day = if day.is_empty() { today } else { day_of(day)? };
    let time = if time.len() == 5 { format!("{time}:00") } else { time.to_owned() };
    let (hour, minute, second) = clock(time.as_bytes())?;
    shift(day + 3600 * hour + 60 * minute + second)
}

fn ago(text: &str) -> Option<u64> {
    let split = text.len().checked_sub(1).filter(|at| text.is_char_boundary(*at))?;
    let (count, unit) = text.split_at(split);
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    number(count.as_bytes())?.checked_mul(unit)
}

fn day_of(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, ['-', '/']).map(|part| number(part.as_bytes()));
    seconds((parts.next()??, parts.next()??, parts.next()??), (0, 0, 0))
}

/// Parses `17:06:09` to hour, minute and second (up to 60, for leap seconds); `None` for other texts.
fn clock(text: &[u8]) -> Option<(u64, u64, u64)> {
    if text.len() != 8 || text[2] != b':' || text[5] != b':' {
        return None;
    }
    let (hour, minute, second) = (number(&text[..2])?, number(&text[3..5])?, number(&text[6..])?);
    (hour < 24 && minute < 60 && second < 61).then_some((hour, minute, second))
}

fn number(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 15 {
        return None;
    }
    text.iter().try_fold(0, |value, byte| byte.is_ascii_digit().then(|| value * 10 + u64::from(byte - b'0')))
}

/// Returns the seconds since the epoch of a date and time in UTC; `None` if the year is not in 1970 to 2999, the month
/// not in 1 to 12, or the day not in 1 to 31.
fn seconds((year, month, day): (u64, u64, u64), (hour, minute, second): (u64, u64, u64)) -> Option<u64> {
    if !(1970..3000).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since the epoch (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted / 400, shifted % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Formats date and hour for tables: `2026-11-24 17`.
pub(crate) fn shown_hour(seconds: u64, offset_minutes: i32) -> String {
    let civil = CivilTime::from_epoch_seconds(seconds.cast_signed() + 60 * i64::from(offset_minutes));
    format!("{:04}-{:02}-{:02} {:02}", civil.year, civil.month, civil.day, civil.hour)
}

/// Formats date and time for tables: `2026-11-24 17:06:09`.
pub(crate) fn shown(seconds: u64, offset_minutes: i32) -> String {
    let civil = CivilTime::from_epoch_seconds(seconds.cast_signed() + 60 * i64::from(offset_minutes));
    let (minute, second) = (civil.minute, civil.second);
    format!("{}:{minute:02}:{second:02}", shown_hour(seconds, offset_minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 1_795_540_029; // 2026-11-24 17:07:09 UTC

    #[test]
    fn every_form_of_a_log_is_the_same_moment() {
        assert_eq!(local(b"24/Nov/2026:17:07:09 +0000"), Some(AT));
        assert_eq!(local(b"24/Nov/2026:18:37:09 +0130"), Some(AT));
        assert_eq!(local(b"24/Nov/2026:15:07:09 -0200"), Some(AT));
        assert_eq!(iso8601(b"2026-11-24T18:07:09+01:00"), Some(AT));
        assert_eq!(epoch(b"1795540029.123"), Some(AT));
        assert_eq!(error_log(b"2026/11/24 18:07:09", |_| 60), Some(AT));
        assert_eq!(shown(AT, 60), "2026-11-24 18:07:09");
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "24/Nov/2026:17:07:09", "24/Foo/2026:17:07:09 +0000", "99/Nov/2026:27:07:09 +0000"] {
            assert_eq!(local(text.as_bytes()), None, "{text}");
        }
        assert_eq!(error_log(b"2026/13/24 18:07:09", |_| 0), None);
        assert_eq!(epoch(b"99999999999999999999"), None);
    }

    #[test]
    fn people_name_times_in_many_ways() {
        let at = |text| moment(text, AT, |_| 60);
        assert_eq!(at("2h"), Some(AT - 7200));
        assert_eq!(at("90m"), Some(AT - 5400));
        assert_eq!(at("17:00"), Some(AT - 4029));
        assert_eq!(at("today"), Some(AT - 18 * 3600 - 429));
        assert_eq!(at("yesterday"), Some(AT - 42 * 3600 - 429));
        assert_eq!(at("2026-11-24 18:07:09"), Some(AT));
        assert_eq!(at("2026-11-24T17:07:09Z"), Some(AT));
        assert_eq!(at("2026/11/24"), at("today"));
        for wrong in ["", "h", "-1h", "tomorrow", "2026-13-01", "25:00", "é"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
    }
}
