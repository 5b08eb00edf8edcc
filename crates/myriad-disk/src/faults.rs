//! Failures of the disk, for tests. In a build without the feature `testing` nothing fails here.

use std::io;
use std::path::Path;

/// An operation on a file or the folder.
#[cfg_attr(
    not(any(test, feature = "testing")),
    expect(unreachable_pub, reason = "only tests name it from outside")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A temporary file is made.
    Create,
    /// A file or the folder is opened.
    Open,
    /// Bytes are read.
    Read,
    /// Bytes are written.
    Write,
    /// A file gets its name.
    Rename,
    /// A file is removed.
    Remove,
}

/// Says which operation fails, and how.
#[cfg(any(test, feature = "testing"))]
pub(crate) type Inject = Box<dyn FnMut(Operation, &Path) -> Option<io::Error> + Send>;

/// Says how many bytes of the file system are free.
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
    /// Asked before each operation on a page's file, and before the folder is opened.
    #[cfg(not(any(test, feature = "testing")))]
    #[inline]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "nothing fails but in tests")]
    pub(crate) fn pass(&self, _: Operation, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Asked before each operation on a page's file, and before the folder is opened.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn pass(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let error = self.inject.lock().as_mut().and_then(|inject| inject(operation, path));
        error.map_or(Ok(()), Err)
    }

    /// How many bytes of the file system of a folder are free; `None` where it does not say.
    #[cfg_attr(
        not(any(test, feature = "testing")),
        expect(clippy::unused_self, reason = "tests say so themselves")
    )]
    pub(crate) fn free(&self, folder: &Path) -> Option<u64> {
        #[cfg(any(test, feature = "testing"))]
        if let Some(free) = &*self.free.lock() {
            return Some(free());
        }
        let system = rustix::fs::statvfs(folder).ok()?;
        Some(system.f_bavail.saturating_mul(system.f_frsize))
    }

    /// From now on the file system has so much room.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn leave_free(&self, free: impl Fn() -> u64 + Send + 'static) {
        *self.free.lock() = Some(Box::new(free));
    }

    /// From now on operations fail as `inject` says.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn inject(&self, inject: impl FnMut(Operation, &Path) -> Option<io::Error> + Send + 'static) {
        *self.inject.lock() = Some(Box::new(inject));
    }
}
