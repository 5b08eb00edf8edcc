//! `error_log`: where, and how much.

use super::SyslogConf;
use crate::text::Text;

/// Levels of `error_log`, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// `emerg`.
    Emerg,
    /// `alert`.
    Alert,
    /// `crit`.
    Crit,
    /// `error`.
    Error,
    /// `warn`.
    Warn,
    /// `notice`.
    Notice,
    /// `info`.
    Info,
    /// `debug` and its parts (`debug_http`, …).
    Debug,
}

/// One `error_log`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorLog {
    /// A path relative to the prefix, or `stderr`; what is written where [`Self::syslog`] says more.
    pub target: Text,
    /// The server that `syslog:…` names.
    pub syslog: Option<SyslogConf>,
    /// Messages at this level or more severe are written.
    pub level: LogLevel,
}
