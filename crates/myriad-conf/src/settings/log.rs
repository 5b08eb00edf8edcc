//! nginx's log module as a level sees it, and the switches that write to the error log.

use super::ErrorLog;
use super::SyslogConf;
use crate::text::Text;

/// One `access_log PATH [FORMAT] [options]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// Path of the file, relative to the prefix; may hold variables. What is written where [`Self::syslog`] says more.
    pub path: Text,
    /// The server that `syslog:…` names.
    pub syslog: Option<SyslogConf>,
    /// Name of a `log_format` in [`crate::model::HttpConf::log_formats`]; checked to exist.
    pub format: String,
    /// `buffer=`, bytes.
    pub buffer: Option<u64>,
    /// `gzip`: the level that the buffer is compressed with before it is written.
    pub gzip: Option<u8>,
    /// `flush=`, milliseconds.
    pub flush: Option<u64>,
    /// `if=`: not logged where this is empty or `0`.
    pub condition: Option<Text>,
    /// `sample=1/N`: of requests that went well (a status below 400) one in so many, chosen at random.
    pub sample: Option<u32>,
}

/// `open_log_file_cache`: descriptors of logs whose path holds variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenLogFileCache {
    /// At most so many.
    pub max: u64,
    /// Closed after so long without use, ms.
    pub inactive: u64,
    /// Used so often within `inactive` to stay open.
    pub min_uses: u64,
    /// Checked for having been moved after so long, ms.
    pub valid: u64,
}

/// What a level logs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// `access_log`; empty for `access_log off`.
    pub access: Vec<AccessLog>,
    /// `error_log` of this level; empty means the main ones in [`crate::model::MainConf::error_logs`].
    pub error: Vec<ErrorLog>,
    /// `open_log_file_cache`; `None` for off.
    pub open_files: Option<OpenLogFileCache>,
    /// `rewrite_log`: rewrites are written to the error log at `notice`.
    pub rewrite: bool,
    /// `uninitialized_variable_warn`.
    pub uninitialized_variable_warn: bool,
    /// `log_not_found`: a missing file is written to the error log.
    pub not_found: bool,
    /// `log_subrequest`.
    pub subrequest: bool,
}
