//! `error_log`: target and level.

use super::SyslogConf;
use crate::text::Text;

/// Severity of a line in the error log, most severe first: the levels of `error_log`. The values are the severities of
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
    /// `warn`: suspicious, but served.
    Warn,
    /// `notice`: start, reload and shutdown of processes.
    Notice,
    /// `info`: ordinary events, such as a client that closed its connection.
    Info,
    /// `debug` and its parts (`debug_http`, …): for debugging the server.
    Debug,
}

impl LogLevel {
    /// Returns the word between brackets in a log line, as in nginx.
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
    /// Path relative to the prefix, or `stderr`. If [`Self::syslog`] is set, this is the written argument.
    pub target: Text,
    /// Server named by `syslog:…`.
    pub syslog: Option<SyslogConf>,
    /// Messages at this level or more severe are written.
    pub level: LogLevel,
    /// `format=json`: each line is a JSON object.
    pub is_json: bool,
    /// `repeat=all`: all repetitions of a message are written. By default, repetitions after the first ten within ten
    /// seconds are only counted.
    pub repeats_all: bool,
}
