//! Settings for access logs, and switches for messages in the error log.

use super::ErrorLog;
use super::SyslogConf;
use crate::text::Text;

/// `access_log PATH [FORMAT] [options]` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// Path, relative to the prefix; may contain variables. If [`Self::syslog`] is set, the argument as written.
    pub path: Text,
    /// Destination given as `syslog:…`; `None` for a file.
    pub syslog: Option<SyslogConf>,
    /// Name of a `log_format` in [`crate::model::HttpConf::log_formats`]; checked to exist.
    pub format: String,
    /// `buffer=`: size of the buffer for log lines in bytes, by default 64 KB with `gzip`; `None` without both.
    pub buffer: Option<u64>,
    /// `gzip`: compression level of the log file, 1 to 9; `None` if not compressed.
    pub gzip: Option<u8>,
    /// `flush=`: maximum time that lines stay in the buffer, in milliseconds; `None` for no limit. Requires `buffer=`
    /// or `gzip`.
    pub flush: Option<u64>,
    /// `if=`: requests for which this value is empty or `0` are not logged; `None` to log all.
    pub condition: Option<Text>,
    /// `sample=1/N`: only a random one in `N` requests with a status from 100 to 399 is logged; `None` to log all. Has
    /// no effect on other requests.
    pub sample: Option<u32>,
}

/// `open_log_file_cache`: cache of open log files whose paths contain variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenLogFileCache {
    /// Maximum number of log files that are open at a time.
    pub max: u64,
    /// Time without use in ms after which a log file is closed when another one is opened.
    pub inactive: u64,
    /// Minimum number of uses within `inactive` for a log file to stay open.
    pub min_uses: u64,
    /// Time after which it is checked again that the path still names the open log file, in ms.
    pub valid: u64,
}

/// Log settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// `access_log` directives of the level; empty for `access_log off`.
    pub access: Vec<AccessLog>,
    /// `error_log` of this level; if empty, [`crate::model::MainConf::error_logs`] applies.
    pub error: Vec<ErrorLog>,
    /// `open_log_file_cache`: cache of open log files whose paths contain variables; `None` for `off`.
    pub open_files: Option<OpenLogFileCache>,
    /// `rewrite_log`: true if rewrites are logged to the error log at `notice`.
    pub rewrite: bool,
    /// `uninitialized_variable_warn`: true if reading an uninitialized variable is logged as a warning.
    pub uninitialized_variable_warn: bool,
    /// `log_not_found`: true if missing files are logged to the error log.
    pub not_found: bool,
    /// `log_subrequest`: true if subrequests are logged to the access log.
    pub subrequest: bool,
}
