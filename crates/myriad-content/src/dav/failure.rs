//! Why a file was not changed.

use std::io;

use myriad_exchange::exchange::{Request, Step};
use myriad_files::SystemError;
use myriad_log::Level;
use rustix::io::Errno;

use crate::files::method_not_allowed;

/// Why a file was not changed: a status, and what the error log is told.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: u16,
    text: String,
}

/// What a method came to, or why it came to nothing.
pub(super) type Done<T = u16> = Result<T, Failure>;

impl Failure {
    pub(super) fn new(status: u16, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// A refusal of the system, with the status for what is not there.
    pub(super) fn of(error: &io::Error, absent: u16, what: &str, path: &[u8]) -> Self {
        let shown = SystemError::of(error);
        let path = String::from_utf8_lossy(path);
        Self::new(status(Errno::from_io_error(error), absent), format!("{what} \"{path}\" failed ({shown})"))
    }

    /// Logs the failure and returns the error to answer with.
    pub(super) fn answer(self, request: &mut Request) -> Step {
        let level = if matches!(self.status, 500 | 507) { Level::Crit } else { Level::Error };
        request.log(level, format_args!("{}", self.text));
        if self.status == 405 { method_not_allowed(request) } else { Step::Error(self.status) }
    }
}

/// nginx's statuses; those of a full disk and of links that are refused are RFC 4918's and `disable_symlinks`'.
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
