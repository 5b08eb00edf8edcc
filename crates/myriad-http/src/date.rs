//! Dates as HTTP, cookies and access logs write them.

/// The length of an HTTP date.
pub const HTTP_DATE_LEN: usize = 29;

/// `Sun, 06 Nov 1994 08:49:37 GMT` of seconds since the epoch (RFC 9110 §5.6.7); years above 9999 read 9999.
pub fn format_http_date(_seconds: u64) -> [u8; HTTP_DATE_LEN] {
    [0; HTTP_DATE_LEN]
}

/// Appends [`format_http_date`].
pub fn write_http_date(seconds: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&format_http_date(seconds));
}

/// Seconds since the epoch of an HTTP date in any of the three formats of RFC 9110 §5.6.7; a two-digit year that
/// would be more than 50 years after `now_s` is of the century before. `None` if it is no date or before 1970.
pub fn parse_http_date(_value: &[u8], _now_s: u64) -> Option<u64> {
    None
}

/// Appends `Thu, 31-Dec-37 23:55:55 GMT`, nginx's form for the expiry of a cookie.
pub fn write_cookie_date(_seconds: u64, _out: &mut Vec<u8>) {}

/// `21/Nov/2026:01:02:03 +0000`, nginx's `$time_local`, at `offset_minutes` east of UTC.
pub fn format_time_local(_seconds: u64, _offset_minutes: i32) -> [u8; 26] {
    [0; 26]
}

/// `2026-11-21T01:02:03+00:00`, nginx's `$time_iso8601`, at `offset_minutes` east of UTC.
pub fn format_time_iso8601(_seconds: u64, _offset_minutes: i32) -> [u8; 25] {
    [0; 25]
}

/// `2026/11/21 01:02:03`, the time in nginx's error log, at `offset_minutes` east of UTC.
pub fn format_error_log_time(_seconds: u64, _offset_minutes: i32) -> [u8; 19] {
    [0; 19]
}
