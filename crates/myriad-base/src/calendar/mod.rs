//! Conversion between seconds since the Unix epoch and dates, in all formats that the server reads or writes.
//!
//! | module | content |
//! |---|---|
//! | `civil` | dates of the Gregorian calendar, and days since the Unix epoch |
//! | `http_date` | dates of HTTP fields (RFC 9110 §5.6.7): one format written, three parsed; dates in cookies |
//! | `log_time` | times in log lines: `$time_local`, `$time_iso8601`, the error log |
//! | `strftime` | dates in a format that the configuration or a page (SSI) chooses (`strftime` of C) |
//! | `rfc3339` | dates in the format of RFC 3339, such as in responses of ACME authorities |
//! | `x509_time` | dates in certificates, and in the format of OpenSSL |
//! | `zone` | time zones: POSIX rules, TZif files (RFC 9636) |
//!
//! The functions use only their arguments: no clock, file or environment. They do not panic for any input, and their
//! running time does not depend on how distant a date is.

mod civil;
mod http_date;
mod log_time;
mod rfc3339;
mod strftime;
mod x509_time;
mod zone;

pub use civil::CivilTime;
pub use http_date::{HTTP_DATE_LEN, format_cookie_date, format_http_date, parse_http_date, write_http_date};
pub use log_time::{format_error_log_time, format_time_iso8601, format_time_local};
pub use rfc3339::parse_rfc3339;
pub use strftime::{ZoneOffset, offset_name, write_time};
pub use x509_time::{YearDigits, format_generalized_time, parse_x509_time, show_x509_time};
pub use zone::TimeZone;
