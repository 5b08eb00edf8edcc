//! Dates as HTTP, cookies and access logs write them.

mod civil;
mod format;
mod parse;

use civil::Civil;
pub use format::{Zone, write_time};
pub use parse::parse_http_date;

/// The length of an HTTP date.
pub const HTTP_DATE_LEN: usize = 29;

const DAYS: [&[u8; 3]; 7] = [b"Sun", b"Mon", b"Tue", b"Wed", b"Thu", b"Fri", b"Sat"];
const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];

/// `Sun, 06 Nov 1994 08:49:37 GMT` of seconds since the epoch (RFC 9110 §5.6.7); times after the year 9999 read as
/// its last second.
pub fn format_http_date(seconds: u64) -> [u8; HTTP_DATE_LEN] {
    let time = Civil::of(seconds);
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

/// `21/Nov/2026:01:02:03 +0000`, nginx's `$time_local`, at `offset_minutes` east of UTC.
pub fn format_time_local(seconds: u64, offset_minutes: i32) -> [u8; 26] {
    let time = Civil::of(shifted(seconds, offset_minutes));
    let mut out = *b"21/Nov/2026:01:02:03 +0000";
    put(&mut out, 0, &two(time.day));
    put(&mut out, 3, MONTHS[time.month - 1]);
    put(&mut out, 7, &four(time.year));
    put(&mut out, 12, &clock(time));
    let (sign, hours, minutes) = zone(offset_minutes);
    put(&mut out, 21, &[sign]);
    put(&mut out, 22, &hours);
    put(&mut out, 24, &minutes);
    out
}

/// `2026-11-21T01:02:03+00:00`, nginx's `$time_iso8601`, at `offset_minutes` east of UTC.
pub fn format_time_iso8601(seconds: u64, offset_minutes: i32) -> [u8; 25] {
    let time = Civil::of(shifted(seconds, offset_minutes));
    let mut out = *b"2026-11-21T01:02:03+00:00";
    put(&mut out, 0, &four(time.year));
    put(&mut out, 5, &two(time.month));
    put(&mut out, 8, &two(time.day));
    put(&mut out, 11, &clock(time));
    let (sign, hours, minutes) = zone(offset_minutes);
    put(&mut out, 19, &[sign]);
    put(&mut out, 20, &hours);
    put(&mut out, 23, &minutes);
    out
}

/// `2026/11/21 01:02:03`, the time in nginx's error log, at `offset_minutes` east of UTC.
pub fn format_error_log_time(seconds: u64, offset_minutes: i32) -> [u8; 19] {
    let time = Civil::of(shifted(seconds, offset_minutes));
    let mut out = *b"2026/11/21 01:02:03";
    put(&mut out, 0, &four(time.year));
    put(&mut out, 5, &two(time.month));
    put(&mut out, 8, &two(time.day));
    put(&mut out, 11, &clock(time));
    out
}

fn shifted(seconds: u64, offset_minutes: i32) -> u64 {
    seconds.saturating_add_signed(i64::from(offset_minutes) * 60)
}

fn put(out: &mut [u8], at: usize, text: &[u8]) {
    out[at..at + text.len()].copy_from_slice(text);
}

/// The last two decimal digits of `number`.
fn two(number: usize) -> [u8; 2] {
    [number / 10 % 10, number % 10].map(|digit| b'0' + digit as u8)
}

fn four(number: usize) -> [u8; 4] {
    let ([a, b], [c, d]) = (two(number / 100), two(number));
    [a, b, c, d]
}

/// `08:49:37`.
fn clock(time: Civil) -> [u8; 8] {
    let mut out = *b"08:49:37";
    put(&mut out, 0, &two(time.hour));
    put(&mut out, 3, &two(time.minute));
    put(&mut out, 6, &two(time.second));
    out
}

/// Sign, hours and minutes of an offset from UTC.
fn zone(offset_minutes: i32) -> (u8, [u8; 2], [u8; 2]) {
    let minutes = offset_minutes.unsigned_abs() as usize;
    (if offset_minutes < 0 { b'-' } else { b'+' }, two(minutes / 60), two(minutes % 60))
}

#[cfg(test)]
mod tests;
