//! Settings of nginx's log module for a level, and switches for messages in the error log.

use super::ErrorLog;
use super::SyslogConf;
use crate::text::Text;

/// `access_log PATH [FORMAT] [options]` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLog {
    /// Path of the file, relative to the prefix; may contain variables. If [`Self::syslog`] is set, this is the written
    /// argument.
    pub path: Text,
    /// Server named by `syslog:…`.
    pub syslog: Option<SyslogConf>,
    /// Name of a `log_format` in [`crate::model::HttpConf::log_formats`]; checked to exist.
    pub format: String,
    /// `buffer=`, in bytes.
    pub buffer: Option<u64>,
    /// `gzip`: compression level of the buffer.
    pub gzip: Option<u8>,
    /// `flush=`, in milliseconds.
    pub flush: Option<u64>,
    /// `if=`: requests for which this is empty or `0` are not logged.
    pub condition: Option<Text>,
    /// `sample=1/N`: only one in `N` randomly selected successful requests (status below 400) is logged.
    pub sample: Option<u32>,
}

/// `open_log_file_cache`: cache of file descriptors of logs whose path contains variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenLogFileCache {
    /// Maximum number of descriptors.
    pub max: u64,
    /// Time without use after which a file is closed, in ms.
    pub inactive: u64,
    /// Minimum number of uses within `inactive` for a file to stay open.
    pub min_uses: u64,
    /// Interval of the check that the file still exists under the same name, in ms.
    pub valid: u64,
}

/// Log settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// `access_log`; empty for `access_log off`.
    pub access: Vec<AccessLog>,
    /// `error_log` of this level; if empty, [`crate::model::MainConf::error_logs`] applies.
    pub error: Vec<ErrorLog>,
    /// `open_log_file_cache`; `None` for `off`.
    pub open_files: Option<OpenLogFileCache>,
    /// `rewrite_log`: rewrites are logged to the error log at `notice`.
    pub rewrite: bool,
    /// `uninitialized_variable_warn`.
    pub uninitialized_variable_warn: bool,
    /// `log_not_found`: missing files are logged to the error log.
    pub not_found: bool,
    /// `log_subrequest`.
    pub subrequest: bool,
}
