//! Errors of WebDAV methods.

use std::io;

use myriad_exchange::exchange::{PhaseStep, Request};
use myriad_files::SystemError;
use myriad_log::LogLevel;
use rustix::io::Errno;

use crate::files::method_not_allowed;

/// Error of a WebDAV method: the status of the response, and a message for the error log.
#[derive(Debug)]
pub(super) struct DavFailure {
    pub(super) status: u16,
    text: String,
}

/// Result of a WebDAV method; on success usually the status of the response.
pub(super) type DavResult<T = u16> = Result<T, DavFailure>;

impl DavFailure {
    pub(super) fn new(status: u16, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// Converts a system error of the operation `what` on `path`; `absent` is the status if the path does not exist or
    /// is too long.
    pub(super) fn from_io_error(error: &io::Error, absent: u16, what: &str, path: &[u8]) -> Self {
        let shown = SystemError::of(error);
        let path = String::from_utf8_lossy(path);
        Self::new(status(Errno::from_io_error(error), absent), format!("{what} \"{path}\" failed ({shown})"))
    }

    /// Logs the message at level crit for statuses 500 and 507, otherwise error, and returns the error response.
    pub(super) fn into_step(self, request: &mut Request) -> PhaseStep {
        let level = if matches!(self.status, 500 | 507) { LogLevel::Crit } else { LogLevel::Error };
        request.log(level, format_args!("{}", self.text));
        if self.status == 405 { method_not_allowed(request) } else { PhaseStep::Error(self.status) }
    }
}

/// Returns the status for a system error, as in nginx. The statuses of a full disk (RFC 4918) and of a rejected
/// symbolic link (`disable_symlinks`) are additions.
fn status(error: Option<Errno>, absent: u16) -> u16 {
    match error {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => absent,
        Some(Errno::ACCESS | Errno::PERM | Errno::LOOP | Errno::ROFS) => 403,
        Some(Errno::EXIST) => 405,
        Some(Errno::ISDIR | Errno::NOTEMPTY) => 409,
        Some(Errno::NOSPC | Errno::DQUOT) => 507,
        _ => 500,
    }
}
