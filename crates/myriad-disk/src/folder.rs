//! The zone's folder, which an administrator may remove while the zone is in use, to clear the cache.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;

use crate::faults::Operation;
use crate::file_store::FileStore;
use crate::files::create_folder;
use crate::options::DiskEvent;
use crate::purge_log;
use crate::sequence;

/// Open handle of the zone's folder. It detects that the path was removed or refers to another folder now.
#[derive(Debug)]
pub(crate) struct FolderHandle {
    file_store: Arc<FileStore>,
    /// Descriptor of the zone's folder, and the first sequence number of this start; `None` before the folder was
    /// opened.
    open_folder: Mutex<Option<(File, u64)>>,
    /// Set once the removal of the folder has been reported.
    removal_reported: AtomicBool,
}

impl FolderHandle {
    pub(crate) fn new(file_store: &Arc<FileStore>) -> Self {
        Self {
            file_store: Arc::clone(file_store),
            open_folder: Mutex::default(),
            removal_reported: AtomicBool::new(false),
        }
    }

    /// Opens the folder that the path refers to now, and stores its descriptor with `epoch`, the first sequence number
    /// of this start. If the folder cannot be opened, the former descriptor remains in use, so that
    /// [`Self::is_removed`] still detects a removal.
    pub(crate) fn take(&self, epoch: u64) -> io::Result<()> {
        self.hold(self.open()?, epoch);
        Ok(())
    }

    pub(crate) fn open(&self) -> io::Result<File> {
        let files = &self.file_store.files;
        files.faults.check(Operation::Open, &files.root)?;
        File::open(&files.root)
    }

    pub(crate) fn hold(&self, file: File, epoch: u64) {
        *self.open_folder.lock() = Some((file, epoch));
    }

    /// Returns true if the folder was removed, or replaced by another folder of the same file system.
    ///
    /// False for a folder that was only moved, or whose file system is temporarily unmounted: its files may reappear.
    /// Also false before the folder has been opened.
    pub(crate) fn is_removed(&self) -> bool {
        let held = self.open_folder.lock();
        let Some((file, _)) = &*held else { return false };
        let Ok(own) = file.metadata() else { return false };
        let is_replaced = match fs::symlink_metadata(&self.file_store.files.root) {
            Ok(named) if (own.dev(), own.ino()) == (named.dev(), named.ino()) => return false,
            Ok(named) => named.is_dir() && named.dev() == own.dev(),
            Err(_) => false,
        };
        // An existing folder has at least its own entry.
        is_replaced || rustix::fs::Dir::read_from(file).is_ok_and(|mut entries| entries.read().is_none())
    }

    /// Writes the hash seed and the first sequence number of this start into the folder, unless the folder has a newer
    /// number of another process.
    pub(crate) fn restore_sequence(&self, epoch: u64) -> io::Result<()> {
        let _locked = purge_log::lock(&self.file_store.files.root)?;
        self.file_store.lease.store_seed(&self.file_store.files, &self.file_store.health)?;
        let newest = sequence::read(&sequence::path(&self.file_store.files.root))
            .map_or(epoch, |newest| newest.max(epoch));
        sequence::write(&self.file_store.files.root, newest)
    }

    /// Creates the folder again after its removal. Returns true if the path refers to an existing folder now.
    fn recreate(&self) -> bool {
        let Some(epoch) = self.open_folder.lock().as_ref().map(|(_, epoch)| *epoch) else { return false };
        let made = create_folder(&self.file_store.files.root)
            .and_then(|()| self.restore_sequence(epoch))
            .and_then(|()| self.take(epoch));
        match made {
            Ok(()) => {
                self.file_store.files.watch.forget();
                self.file_store.lease.release();
                self.file_store.maintain_lease(epoch);
            }
            // The administrator may create the folder after the report of the removal, so this is not a failure yet.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                self.file_store.health.pause_writes();
            }
            Err(error) => {
                self.file_store.health.record_write_failure("mkdir()", &self.file_store.files.root, error);
            }
        }
        !self.is_removed()
    }

    /// Clears the zone if its folder was removed, and creates the folder again. If that fails, each later call tries
    /// again, but not while writing is paused after a failure.
    pub(crate) fn handle_removal(&self) {
        if !self.is_removed() {
            return;
        }
        let is_news = !self.removal_reported.swap(true, Relaxed);
        if !is_news && !self.file_store.health.may_attempt_write() {
            return;
        }
        let is_made = self.recreate();
        if is_news || !is_made {
            self.file_store.health.report_event(&DiskEvent::Removed {
                path: self.file_store.files.root.clone(),
                is_made,
                is_news,
            });
        }
        if is_news {
            if let Some(memory) = self.file_store.memory.upgrade() {
                memory.forget_all();
            }
            // Removing the folder also removes pages that are being written.
            let gone = self.file_store.file_index.lock().remove_all();
            self.file_store.counts.vanished.fetch_add(gone as u64, Relaxed);
            self.file_store.queue_doomed_removal();
        }
        if is_made {
            self.removal_reported.store(false, Relaxed);
            self.file_store.health.report_recovery_now();
        }
    }
}
