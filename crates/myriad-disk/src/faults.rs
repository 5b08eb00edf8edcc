//! Injection of disk failures, only in tests and with the feature `testing`.

use std::io;
use std::path::Path;

/// File-system operation that tests can make fail.
#[cfg_attr(
    not(any(test, feature = "testing")),
    expect(unreachable_pub, reason = "only tests name it from outside")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creation of a temporary file.
    Create,
    /// Opening of a file or the folder.
    Open,
    /// Reading of bytes.
    Read,
    /// Writing of bytes.
    Write,
    /// Renaming of a temporary file to its final name.
    Rename,
    /// Removal of a file.
    Remove,
}

/// Function of a test that is called before file operations; returns the error with which the operation fails, or
/// `None`.
#[cfg(any(test, feature = "testing"))]
pub(crate) type Inject = Box<dyn FnMut(Operation, &Path) -> Option<io::Error> + Send>;

/// Function of a test that returns the number of free bytes, in place of the file system.
#[cfg(any(test, feature = "testing"))]
pub(crate) type Free = Box<dyn Fn() -> u64 + Send>;

#[derive(Default)]
pub(crate) struct Faults {
    #[cfg(any(test, feature = "testing"))]
    inject: parking_lot::Mutex<Option<Inject>>,
    #[cfg(any(test, feature = "testing"))]
    free: parking_lot::Mutex<Option<Free>>,
}

impl Faults {
    /// Returns `Ok` outside of tests; in test builds, a function of the same name returns injected failures.
    #[cfg(not(any(test, feature = "testing")))]
    #[inline]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "failures are injected only in tests")]
    pub(crate) fn check(&self, _: Operation, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Returns the injected failure of an operation, if there is one. Called before most operations on page files, and
    /// before the folder is opened.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn check(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let error = self.inject.lock().as_mut().and_then(|inject| inject(operation, path));
        error.map_or(Ok(()), Err)
    }

    /// Returns the number of free bytes in the file system of a folder, or `None` if it cannot be determined.
    #[cfg_attr(
        not(any(test, feature = "testing")),
        expect(clippy::unused_self, reason = "only tests read a field")
    )]
    pub(crate) fn free(&self, folder: &Path) -> Option<u64> {
        #[cfg(any(test, feature = "testing"))]
        if let Some(free) = &*self.free.lock() {
            return Some(free());
        }
        let system = rustix::fs::statvfs(folder).ok()?;
        Some(system.f_bavail.saturating_mul(system.f_frsize))
    }

    /// Makes [`Self::free`] return the result of `free`, to simulate a full disk.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn set_free_space(&self, free: impl Fn() -> u64 + Send + 'static) {
        *self.free.lock() = Some(Box::new(free));
    }

    /// Makes file operations fail with the errors that `inject` returns, for tests.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn inject(&self, inject: impl FnMut(Operation, &Path) -> Option<io::Error> + Send + 'static) {
        *self.inject.lock() = Some(Box::new(inject));
    }
}
