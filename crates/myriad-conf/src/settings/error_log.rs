//! `error_log`: target and level.

use super::SyslogConf;
use crate::text::Text;

/// Severity of an error log message, most severe first: the levels of `error_log`. The numbers are the severities of
/// syslog (RFC 3164 section 4.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// `emerg`: the server cannot run.
    #[default]
    Emerg,
    /// `alert`: an event that must never happen.
    Alert,
    /// `crit`: a resource of the whole server failed.
    Crit,
    /// `error`: one request failed; nginx's default threshold.
    Error,
    /// `warn`: suspicious, but the request was served.
    Warn,
    /// `notice`: start, reload and shutdown of processes.
    Notice,
    /// `info`: ordinary events, such as a client that closed its connection.
    Info,
    /// `debug`, `debug_http` and similar: details for debugging the server.
    Debug,
}

impl LogLevel {
    /// Returns the name in the configuration and in log lines, as in nginx.
    pub fn name(self) -> &'static str {
        match self {
            Self::Emerg => "emerg",
            Self::Alert => "alert",
            Self::Crit => "crit",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Notice => "notice",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// `error_log` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLog {
    /// Path relative to the prefix, or `stderr`. If [`Self::syslog`] is set, the argument as written.
    pub target: Text,
    /// Destination given as `syslog:…`; `None` for a file.
    pub syslog: Option<SyslogConf>,
    /// Least severe level of the messages that are written.
    pub level: LogLevel,
    /// `format=json`: true if each line is a JSON object.
    pub is_json: bool,
    /// `repeat=all`: true if all repetitions of a message are written. Without it, repetitions after the first ten
    /// within ten seconds are only counted.
    pub repeats_all: bool,
}
