//! Logs as nginx writes them: the error log, access logs, syslog, and the local time that stands in their lines.
//!
//! | module | what |
//! |---|---|
//! | `error_log` | lines of the error log, and the targets that they go to |
//! | `repeats`, `json_line` | messages that come again and again; lines as JSON |
//! | `escaped` | messages that stay on one line |
//! | `once_a_second` | lines that must not fill a log |
//! | `log_file` | a file that any number of logs share, swapped under them when logs are opened anew |
//! | `access` | lines of access logs: format, escaping, buffers of a worker, threads that write, logs whose path holds variables |
//! | `logs` | the log files and syslog servers of a process, each opened once |
//! | `syslog` | lines as datagrams to syslog servers (RFC 3164) |
//! | [`local_time`] | the time zone |
//!
//! A line that cannot be written is lost: a full disk or a syslog server that is down must not stop the site. Nothing here knows
//! what a request is: an access log asks a `myriad_script::Environment` for the values of its line.

#![forbid(unsafe_code)]

mod access;
mod error_log;
mod escaped;
mod json_line;
pub mod local_time;
mod log_file;
mod logs;
mod once_a_second;
mod repeats;
mod syslog;
#[cfg(test)]
mod testing;

pub use access::{AccessLog, BufferRules, Format, LogTarget, LogThreads, LogWriter, Loss, write_escaped};
pub use error_log::{ErrorLog, Sink, Target};
pub use escaped::escaped;
pub use log_file::{Cut, LogFile};
pub use logs::Logs;
pub use once_a_second::OnceASecond;
pub use syslog::Syslog;

/// Mode of log files that are created. URLs in them hold keys that reset passwords and secrets of APIs, so other users of the machine
/// may not read them.
pub const MODE: u32 = 0o640;

/// Severity of a line; handed on for crates that log and need nothing else of `myriad-conf`.
pub use myriad_conf::settings::Level;
