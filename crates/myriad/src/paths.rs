//! Where things are when nothing is said, and how relative names are completed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::cli::Options;

const DEFAULT_PREFIX: &str = "/usr/local/myriad";
const DEFAULT_CONFIGURATION: &str = "conf/nginx.conf";
/// nginx's documented default for `error_log`.
const DEFAULT_ERROR_LOG: &str = "logs/error.log";
/// nginx's documented default for `pid`.
const DEFAULT_PID: &str = "logs/nginx.pid";

/// The places of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Paths {
    /// `-p`, absolute.
    pub(crate) prefix: PathBuf,
    /// `-c`, absolute.
    pub(crate) configuration: PathBuf,
    /// `-e`, absolute; `None` for `-e stderr`.
    pub(crate) error_log: Option<PathBuf>,
}

impl Paths {
    /// Completes what the command line says: the prefix by the current folder, the others by the prefix.
    pub(crate) fn new(options: &Options) -> Self {
        let prefix = options.prefix.as_deref().unwrap_or(Path::new(DEFAULT_PREFIX));
        let current = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let prefix = current.join(prefix);
        let configuration = options.configuration.as_deref().unwrap_or(Path::new(DEFAULT_CONFIGURATION));
        let error_log = options.error_log.as_deref().unwrap_or(Path::new(DEFAULT_ERROR_LOG));
        Self {
            configuration: prefix.join(configuration),
            error_log: (error_log != Path::new("stderr")).then(|| prefix.join(error_log)),
            prefix,
        }
    }

    /// A path of the configuration, made absolute by the prefix.
    pub(crate) fn complete(&self, written: &[u8]) -> PathBuf {
        self.prefix.join(OsStr::from_bytes(written))
    }

    /// The pid file: the directive's path or the default.
    pub(crate) fn pid(&self, written: Option<&[u8]>) -> PathBuf {
        self.complete(written.unwrap_or(DEFAULT_PID.as_bytes()))
    }
}
