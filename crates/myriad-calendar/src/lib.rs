//! The one calendar: seconds since the Unix epoch as dates and back, in every form that is written or read here.
//!
//! | module | what |
//! |---|---|
//! | `civil` | a date of the Gregorian calendar, and the days from the epoch to one |
//! | `http_date` | dates of HTTP fields (RFC 9110 §5.6.7): one form written, three read |
//! | `log_time` | times in lines of logs: `$time_local`, `$time_iso8601`, the error log |
//! | `strftime` | dates in a form that a page asks for (`strftime` of C) |
//! | `rfc3339` | dates in what ACME authorities answer |
//! | `x509_time` | dates in certificates, and as OpenSSL shows them |
//! | `zone` | time zones: rules as POSIX writes them, TZif files (RFC 9636) |
//!
//! Everything here is a function of its arguments: no clock, no file, no environment. Nothing that is read makes it panic, and
//! nothing takes longer for a date that is far away.

#![forbid(unsafe_code)]

mod civil;
mod http_date;
mod log_time;
mod rfc3339;
mod strftime;
mod x509_time;
mod zone;

pub use civil::Civil;
pub use http_date::{HTTP_DATE_LEN, format_cookie_date, format_http_date, parse_http_date, write_http_date};
pub use log_time::{format_error_log_time, format_time_iso8601, format_time_local};
pub use rfc3339::parse_rfc3339;
pub use strftime::{Offset, offset_name, write_time};
pub use x509_time::{YearDigits, format_generalized_time, parse_x509_time, show_x509_time};
pub use zone::TimeZone;
