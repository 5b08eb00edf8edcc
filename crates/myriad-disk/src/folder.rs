//! The folder itself, which an administrator may remove during operation to clear a cache.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::faults::Operation;
use crate::files::make_folder;
use crate::options::DiskEvent;
use crate::purge_log;
use crate::sequence;
use crate::shelf::Shelf;

/// Folder in use, regardless of the folder that its name refers to by now.
#[derive(Debug)]
pub(crate) struct Folder {
    shelf: Arc<Shelf>,
    /// Its descriptor, and the first number of this start.
    held: Mutex<Option<(File, u64)>>,
    /// Set once the removal of the folder has been reported.
    is_told: AtomicBool,
}

impl Folder {
    pub(crate) fn new(shelf: &Arc<Shelf>) -> Self {
        Self { shelf: Arc::clone(shelf), held: Mutex::default(), is_told: AtomicBool::new(false) }
    }

    /// Uses the folder that has the name now. If it has already been removed, the former descriptor is retained, which
    /// shows the removal.
    pub(crate) fn take(&self, epoch: u64) -> io::Result<()> {
        self.hold(self.open()?, epoch);
        Ok(())
    }

    pub(crate) fn open(&self) -> io::Result<File> {
        let files = &self.shelf.files;
        files.faults.pass(Operation::Open, &files.root)?;
        File::open(&files.root)
    }

    pub(crate) fn hold(&self, file: File, epoch: u64) {
        *self.held.lock() = Some((file, epoch));
    }

    /// Returns whether the folder was removed or replaced.
    ///
    /// Its contents cannot reappear in that case, unlike those of a folder that was only moved, or whose file system is
    /// temporarily unmounted.
    pub(crate) fn is_removed(&self) -> bool {
        let held = self.held.lock();
        let Some((file, _)) = &*held else { return false };
        let Ok(own) = file.metadata() else { return false };
        let is_replaced = match fs::symlink_metadata(&self.shelf.files.root) {
            Ok(named) if (own.dev(), own.ino()) == (named.dev(), named.ino()) => return false,
            Ok(named) => named.is_dir() && named.dev() == own.dev(),
            Err(_) => false,
        };
        // An existing folder has at least its own entry.
        is_replaced || rustix::fs::Dir::read_from(file).is_ok_and(|mut entries| entries.read().is_none())
    }

    /// Writes the first number of this start into the folder, unless another process has written a newer number.
    pub(crate) fn restore_sequence(&self, epoch: u64) -> io::Result<()> {
        let _locked = purge_log::lock(&self.shelf.files.root)?;
        self.shelf.lease.keep_seed(&self.shelf.files, &self.shelf.health)?;
        let newest =
            sequence::read(&sequence::path(&self.shelf.files.root)).map_or(epoch, |newest| newest.max(epoch));
        sequence::write(&self.shelf.files.root, newest)
    }

    /// Creates the folder again. Returns whether a folder exists now.
    fn remake(&self) -> bool {
        let Some(epoch) = self.held.lock().as_ref().map(|(_, epoch)| *epoch) else { return false };
        let made = make_folder(&self.shelf.files.root)
            .and_then(|()| self.restore_sequence(epoch))
            .and_then(|()| self.take(epoch));
        match made {
            Ok(()) => {
                self.shelf.files.watch.forget();
                self.shelf.lease.leave();
                self.shelf.keep_lease(epoch);
            }
            // The administrator may create the folder after the report of the removal, so this is not a failure yet.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => self.shelf.health.put_writing_off(),
            Err(error) => self.shelf.health.failed("mkdir()", &self.shelf.files.root, error),
        }
        !self.is_removed()
    }

    /// Clears the zone if the folder was removed, and creates the folder again.
    pub(crate) fn notice_removed(&self) {
        if !self.is_removed() {
            return;
        }
        let is_news = !self.is_told.swap(true, Relaxed);
        if !is_news && !self.shelf.health.is_time_to_write() {
            return;
        }
        let is_made = self.remake();
        if is_news || !is_made {
            self.shelf.health.tell(&DiskEvent::Removed {
                path: self.shelf.files.root.clone(),
                is_made,
                is_news,
            });
        }
        if is_news {
            if let Some(memory) = self.shelf.memory.upgrade() {
                memory.forget_all();
            }
            // Removing the folder also removes pages that are being written.
            let gone = self.shelf.catalogue.lock().remove_all();
            self.shelf.counts.vanished.fetch_add(gone as u64, Relaxed);
            self.shelf.bury_soon();
        }
        if is_made {
            self.is_told.store(false, Relaxed);
            self.shelf.health.trouble_is_over();
        }
    }
}
