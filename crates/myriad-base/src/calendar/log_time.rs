//! Times in the formats of nginx's logs.

use crate::calendar::civil::{CivilTime, MONTHS, format_clock, four_digits, overwrite_at, two_digits};

/// Formats seconds since the Unix epoch as `21/Nov/2026:01:02:03 +0000` (`$time_local`), at an offset in minutes east
/// of UTC.
pub fn format_time_local(seconds: u64, offset_minutes: i32) -> [u8; 26] {
    let time = CivilTime::from_unsigned_seconds(to_local_seconds(seconds, offset_minutes));
    let mut out = *b"21/Nov/2026:01:02:03 +0000";
    overwrite_at(&mut out, 0, &two_digits(time.day));
    overwrite_at(&mut out, 3, MONTHS[time.month - 1]);
    overwrite_at(&mut out, 7, &four_digits(time.year));
    overwrite_at(&mut out, 12, &format_clock(time));
    let (sign, hours, minutes) = offset_parts(offset_minutes);
    overwrite_at(&mut out, 21, &[sign]);
    overwrite_at(&mut out, 22, &hours);
    overwrite_at(&mut out, 24, &minutes);
    out
}

/// Formats seconds since the Unix epoch as `2026-11-21T01:02:03+00:00` (`$time_iso8601`), at an offset in minutes east
/// of UTC.
pub fn format_time_iso8601(seconds: u64, offset_minutes: i32) -> [u8; 25] {
    let time = CivilTime::from_unsigned_seconds(to_local_seconds(seconds, offset_minutes));
    let mut out = *b"2026-11-21T01:02:03+00:00";
    overwrite_at(&mut out, 0, &four_digits(time.year));
    overwrite_at(&mut out, 5, &two_digits(time.month));
    overwrite_at(&mut out, 8, &two_digits(time.day));
    overwrite_at(&mut out, 11, &format_clock(time));
    let (sign, hours, minutes) = offset_parts(offset_minutes);
    overwrite_at(&mut out, 19, &[sign]);
    overwrite_at(&mut out, 20, &hours);
    overwrite_at(&mut out, 23, &minutes);
    out
}

/// Formats seconds since the Unix epoch as `2026/11/21 01:02:03` (error log), at an offset in minutes east of UTC.
pub fn format_error_log_time(seconds: u64, offset_minutes: i32) -> [u8; 19] {
    let time = CivilTime::from_unsigned_seconds(to_local_seconds(seconds, offset_minutes));
    let mut out = *b"2026/11/21 01:02:03";
    overwrite_at(&mut out, 0, &four_digits(time.year));
    overwrite_at(&mut out, 5, &two_digits(time.month));
    overwrite_at(&mut out, 8, &two_digits(time.day));
    overwrite_at(&mut out, 11, &format_clock(time));
    out
}

/// Adds an offset in minutes east of UTC to seconds since the Unix epoch. A negative result becomes 0.
pub(crate) fn to_local_seconds(seconds: u64, offset_minutes: i32) -> u64 {
    seconds.saturating_add_signed(i64::from(offset_minutes) * 60)
}

/// Returns the sign, hours and minutes of an offset from UTC as ASCII digits.
fn offset_parts(offset_minutes: i32) -> (u8, [u8; 2], [u8; 2]) {
    let minutes = offset_minutes.unsigned_abs() as usize;
    (if offset_minutes < 0 { b'-' } else { b'+' }, two_digits(minutes / 60), two_digits(minutes % 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> &str {
        str::from_utf8(bytes).unwrap()
    }

    #[test]
    fn log_times_are_written_with_their_offset() {
        // 21 November 2026, 01:02:03 UTC.
        let time = 1_795_222_923;
        assert_eq!(text(&format_time_local(time, 0)), "21/Nov/2026:01:02:03 +0000");
        assert_eq!(text(&format_time_local(time, -570)), "20/Nov/2026:15:32:03 -0930");
        assert_eq!(text(&format_time_iso8601(time, 0)), "2026-11-21T01:02:03+00:00");
        assert_eq!(text(&format_time_iso8601(time, 345)), "2026-11-21T06:47:03+05:45");
        assert_eq!(text(&format_error_log_time(time, 60)), "2026/11/21 02:02:03");
        assert_eq!(text(&format_time_local(0, -60)), "01/Jan/1970:00:00:00 -0100");
    }
}
