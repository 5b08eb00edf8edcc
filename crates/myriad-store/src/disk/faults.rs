//! Where tests have the disk fail. Elsewhere it does what the system does, and nothing stands in its way.

use std::io;
use std::path::Path;

/// What is about to be done to a file or the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Open,
    Read,
    Write,
    Rename,
    Remove,
}

/// Says which operation fails, and how.
#[cfg(test)]
pub(crate) type Inject = Box<dyn FnMut(Operation, &Path) -> Option<io::Error> + Send>;

/// Says how many bytes of the file system are free.
#[cfg(test)]
pub(crate) type Free = Box<dyn Fn() -> u64 + Send>;

#[derive(Default)]
pub(crate) struct Faults {
    #[cfg(test)]
    inject: parking_lot::Mutex<Option<Inject>>,
    #[cfg(test)]
    free: parking_lot::Mutex<Option<Free>>,
}

impl Faults {
    /// Asked before each operation on a page's file, and before the folder is opened.
    #[cfg(not(test))]
    #[inline]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "nothing fails but in tests")]
    pub(crate) fn pass(&self, _: Operation, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Asked before each operation on a page's file, and before the folder is opened.
    #[cfg(test)]
    pub(crate) fn pass(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let error = self.inject.lock().as_mut().and_then(|inject| inject(operation, path));
        error.map_or(Ok(()), Err)
    }

    /// How many bytes of the file system of a folder are free; `None` where it does not say.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests say so themselves"))]
    pub(crate) fn free(&self, folder: &Path) -> Option<u64> {
        #[cfg(test)]
        if let Some(free) = &*self.free.lock() {
            return Some(free());
        }
        let system = rustix::fs::statvfs(folder).ok()?;
        Some(system.f_bavail.saturating_mul(system.f_frsize))
    }

    /// From now on the file system has so much room.
    #[cfg(test)]
    pub(crate) fn leave_free(&self, free: impl Fn() -> u64 + Send + 'static) {
        *self.free.lock() = Some(Box::new(free));
    }

    /// From now on operations fail as `inject` says.
    #[cfg(test)]
    pub(crate) fn inject(&self, inject: impl FnMut(Operation, &Path) -> Option<io::Error> + Send + 'static) {
        *self.inject.lock() = Some(Box::new(inject));
    }
}
