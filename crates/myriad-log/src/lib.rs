//! Logs in nginx's formats: the error log, access logs, syslog, and the local time in their lines.
//!
//! | module | contents |
//! |---|---|
//! | `error_log` | lines of the error log and their targets |
//! | `repeats`, `json_line` | suppression of repeated messages; lines as JSON |
//! | `escape` | escaping of messages to a single line |
//! | `rate_limit` | rate limit for repeated lines |
//! | `log_file` | file shared by any number of logs, whose descriptor is replaced when logs are reopened |
//! | `access` | access logs: format, escaping, buffers of a worker, writer threads, logs with variables in their path |
//! | `logs` | log files and syslog servers of a process, each opened once |
//! | `syslog` | lines as datagrams to syslog servers (RFC 3164) |
//! | [`local_time`] | time zone |
//!
//! A line that cannot be written is lost: a full disk or an unavailable syslog server must not stop the site. This
//! crate does not depend on the type of requests: an access log gets the values of its line from a
//! `myriad_script::Environment`.

#![forbid(unsafe_code)]

mod access;
mod error_log;
mod escape;
mod json_line;
pub mod local_time;
mod log_file;
mod logs;
mod rate_limit;
mod repeats;
mod syslog;
#[cfg(test)]
mod testing;

pub use access::{AccessLog, LogBuffering, LogFormat, LogTarget, LogThreads, LogWriter, Loss, write_escaped};
pub use error_log::{ErrorLog, ErrorLogTarget, LogSink};
pub use escape::escaped;
pub use log_file::{LogFile, PartialWrite};
pub use logs::Logs;
pub use rate_limit::LogRateLimit;
pub use syslog::Syslog;

/// Mode of new log files. URLs in them contain password reset keys and API secrets, so other users of the machine must
/// not read them.
pub const MODE: u32 = 0o640;

/// Severity of a line; re-exported for crates that log and need nothing else from `myriad-conf`.
pub use myriad_conf::settings::LogLevel;
