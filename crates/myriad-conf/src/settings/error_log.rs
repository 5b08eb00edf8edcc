//! `error_log`: where, and how much.

use super::SyslogConf;
use crate::text::Text;

/// How much a line of the error log matters, the most severe first: the levels of `error_log`. Their numbers are the severities
/// of syslog (RFC 3164 section 4.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `emerg`: the server cannot run.
    #[default]
    Emerg,
    /// `alert`: something that must never happen did.
    Alert,
    /// `crit`: a resource of the whole server failed.
    Crit,
    /// `error`: one request failed; nginx's default threshold.
    Error,
    /// `warn`: suspicious but served.
    Warn,
    /// `notice`: life of the processes.
    Notice,
    /// `info`: ordinary events, such as a client that hung up.
    Info,
    /// `debug` and its parts (`debug_http`, …): for whoever debugs the server.
    Debug,
}

impl Level {
    /// The word between brackets, as nginx writes it.
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

/// One `error_log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLog {
    /// A path relative to the prefix, or `stderr`; what is written where [`Self::syslog`] says more.
    pub target: Text,
    /// The server that `syslog:…` names.
    pub syslog: Option<SyslogConf>,
    /// Messages at this level or more severe are written.
    pub level: Level,
    /// `format=json`: each line is an object.
    pub is_json: bool,
    /// `repeat=all`: the same message is written as often as it comes, not counted after the first ten of ten seconds.
    pub repeats_all: bool,
}
