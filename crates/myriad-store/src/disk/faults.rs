//! Where tests have the disk fail. Elsewhere it does what the system does, and nothing stands in its way.

use std::io;
use std::path::Path;

/// What is about to be done to a file.
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

#[derive(Default)]
pub(crate) struct Faults {
    #[cfg(test)]
    inject: parking_lot::Mutex<Option<Inject>>,
}

impl Faults {
    /// Asked before each operation on a page's file.
    #[cfg(not(test))]
    #[inline]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "nothing fails but in tests")]
    pub(crate) fn pass(&self, _: Operation, _: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Asked before each operation on a page's file.
    #[cfg(test)]
    pub(crate) fn pass(&self, operation: Operation, path: &Path) -> io::Result<()> {
        let error = self.inject.lock().as_mut().and_then(|inject| inject(operation, path));
        error.map_or(Ok(()), Err)
    }

    /// From now on operations fail as `inject` says.
    #[cfg(test)]
    pub(crate) fn inject(&self, inject: impl FnMut(Operation, &Path) -> Option<io::Error> + Send + 'static) {
        *self.inject.lock() = Some(Box::new(inject));
    }
}
