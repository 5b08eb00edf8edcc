//! System errors in the log format of nginx: `2: No such file or directory`.

use std::fmt;
use std::io;

use rustix::io::Errno;

/// Error number (`errno`) of the system, or the number that corresponds to an error without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemError(i32);

impl SystemError {
    /// Returns the system error number (`errno`) of an error; the number with the closest meaning if the error does not
    /// come from the system.
    pub fn of(error: &io::Error) -> Self {
        let same_kind = || match error.kind() {
            // `InvalidInput` without `errno`: a name with a zero byte, which no file can have, or not a regular file.
            io::ErrorKind::NotFound | io::ErrorKind::InvalidInput => Errno::NOENT,
            io::ErrorKind::PermissionDenied => Errno::ACCESS,
            _ => Errno::IO,
        };
        Self(error.raw_os_error().filter(|number| *number > 0).unwrap_or_else(|| same_kind().raw_os_error()))
    }

    /// Returns the status with which nginx responds to this error: 404 if the path does not exist, leads through a
    /// file, or is too long; 403 if access is denied, and for `ELOOP` and `EMLINK` (symbolic links); otherwise 500.
    pub fn status(self) -> u16 {
        if self.is_one_of(&[Errno::NOENT, Errno::NOTDIR, Errno::NAMETOOLONG]) {
            404
        } else if self.is_one_of(&[Errno::ACCESS, Errno::LOOP, Errno::MLINK]) {
            403
        } else {
            500
        }
    }

    fn is_one_of(self, errors: &[Errno]) -> bool {
        errors.iter().any(|error| error.raw_os_error() == self.0)
    }

    /// Returns true if the system had no free file descriptor or memory, so that the error does not concern the path.
    pub(crate) fn is_exhaustion(self) -> bool {
        self.is_one_of(&[Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS])
    }

    /// Returns true unless the error states a property of the path, such as that it does not exist or that access is denied.
    /// Another attempt may then succeed, although the path is unchanged.
    pub(crate) fn may_be_temporary(self) -> bool {
        self.status() == 500 && !self.is_one_of(&[Errno::PERM])
    }

    /// Returns true for the errors with status 404: no such file, not a directory, name too long. `log_not_found`
    /// controls the logging of these errors.
    pub fn is_absence(self) -> bool {
        self.status() == 404
    }
}

impl fmt::Display for SystemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = io::Error::from_raw_os_error(self.0).to_string();
        let text = text.split(" (os error").next().unwrap_or_default();
        write!(f, "{}: {text}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_in_the_log_of_nginx() {
        let missing = SystemError::of(&io::Error::from_raw_os_error(2));
        assert!(!missing.is_exhaustion());
        assert!(SystemError::of(&Errno::MFILE.into()).is_exhaustion());
        assert_eq!(missing.to_string(), "2: No such file or directory");
        assert_eq!((missing.status(), missing.is_absence()), (404, true));
        // Error without a number, as for a name that is rejected before any system call.
        let refused = SystemError::of(&io::ErrorKind::NotFound.into());
        assert_eq!((refused, SystemError::of(&io::Error::other("x")).status()), (missing, 500));
        let denied = SystemError::of(&io::Error::from_raw_os_error(13));
        assert_eq!((denied.to_string().as_str(), denied.status()), ("13: Permission denied", 403));
        assert_eq!(SystemError::of(&io::Error::other("x")).status(), 500);
    }

    #[test]
    fn statuses_are_those_of_nginx() {
        let status = |errno: Errno| SystemError::of(&io::Error::from(errno)).status();
        assert_eq!([Errno::NOENT, Errno::NOTDIR, Errno::NAMETOOLONG].map(status), [404; 3]);
        assert_eq!([Errno::ACCESS, Errno::LOOP, Errno::MLINK].map(status), [403; 3]);
        assert_eq!([Errno::IO, Errno::MFILE, Errno::PERM].map(status), [500; 3]);
    }

    #[test]
    fn errors_that_bear_no_number_get_one_by_their_kind() {
        let number = |kind: io::ErrorKind| SystemError::of(&io::Error::from(kind)).0;
        assert_eq!(number(io::ErrorKind::InvalidInput), Errno::NOENT.raw_os_error());
        assert_eq!(number(io::ErrorKind::PermissionDenied), Errno::ACCESS.raw_os_error());
        assert_eq!(number(io::ErrorKind::UnexpectedEof), Errno::IO.raw_os_error());
        assert_eq!(SystemError::of(&io::Error::from_raw_os_error(0)).0, Errno::IO.raw_os_error());
    }
}
