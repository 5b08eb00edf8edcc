//! Logs in nginx's formats: the error log, access logs, syslog, and the local time in their lines.
//!
//! | module | contents |
//! |---|---|
//! | `error_log` | error logs and their targets |
//! | `repeats`, `json_line` | suppression of repeated messages; lines in JSON |
//! | `escape` | escaping of messages to a single line |
//! | `rate_limit` | limit of one line per second for an event |
//! | `log_file` | file that several logs share; its descriptor is replaced when logs are reopened |
//! | `access` | access logs: formats, buffers of workers, writer threads, logs with variables in their path |
//! | `logs` | log files and syslog servers of a process, each opened once |
//! | `syslog` | log lines as datagrams to syslog servers (RFC 3164) |
//! | [`local_time`] | local time zone |
//!
//! A line that cannot be written is lost: a full disk or an unavailable syslog server must not stop the server. The
//! crate does not depend on the type of requests: access logs get variables from a `myriad_script::Environment`.

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

/// Permissions of new log files. Other users must not read them, because URLs can contain password reset keys and API
/// secrets.
pub const MODE: u32 = 0o640;

/// Severity of a line, for crates that need nothing else from `myriad-conf`.
pub use myriad_conf::settings::LogLevel;
