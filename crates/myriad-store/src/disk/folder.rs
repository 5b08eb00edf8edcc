//! The folder itself, which somebody may remove while it is used, to clear a cache.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::faults::Operation;
use super::options::DiskEvent;
use super::purge_log;
use super::sequence;
use super::shelf::Shelf;
use parking_lot::Mutex;

/// The folder that is used, whatever its name leads to by now, and the first number of this start.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    held: Mutex<Option<(File, u64)>>,
    /// It was told that somebody removed it.
    is_told: AtomicBool,
    /// It says another seed than that of this run, which does not write into it.
    pub(crate) is_foreign: AtomicBool,
}

impl Shelf {
    /// From here on this is the folder. If it has gone again meanwhile, the one before is kept: that tells of the removal.
    pub(crate) fn take_folder(&self, epoch: u64) -> io::Result<()> {
        self.hold_folder(self.open_folder()?, epoch);
        Ok(())
    }

    pub(crate) fn open_folder(&self) -> io::Result<File> {
        self.faults.pass(Operation::Open, &self.root)?;
        File::open(&self.root)
    }

    pub(crate) fn hold_folder(&self, file: File, epoch: u64) {
        *self.folder.held.lock() = Some((file, epoch));
    }

    /// Whether the folder was removed, or another one was put into its place: nothing that was in it can come back, unlike one that
    /// was only moved, or whose file system is not there for now.
    pub(crate) fn is_removed(&self) -> bool {
        let held = self.folder.held.lock();
        let Some((file, _)) = &*held else { return false };
        let Ok(own) = file.metadata() else { return false };
        let is_replaced = match fs::symlink_metadata(&self.root) {
            Ok(named) if (own.dev(), own.ino()) == (named.dev(), named.ino()) => return false,
            Ok(named) => named.is_dir() && named.dev() == own.dev(),
            Err(_) => false,
        };
        // A folder that is there lists itself.
        is_replaced || rustix::fs::Dir::read_from(file).is_ok_and(|mut entries| entries.read().is_none())
    }

    /// Has the folder say again which start is the newest, as far as is known here: another process may have said so already.
    pub(crate) fn restore_sequence(&self, epoch: u64) -> io::Result<()> {
        let _locked = purge_log::lock(&self.root)?;
        self.keep_seed()?;
        let newest = sequence::read(&sequence::path(&self.root)).map_or(epoch, |newest| newest.max(epoch));
        sequence::write(&self.root, newest)
    }

    /// Makes the folder anew; whether there is one.
    fn remake_folder(&self) -> bool {
        let Some(epoch) = self.folder.held.lock().as_ref().map(|(_, epoch)| *epoch) else { return false };
        let made = Self::make_folder(&self.root)
            .and_then(|()| self.restore_sequence(epoch))
            .and_then(|()| self.take_folder(epoch));
        match made {
            Ok(()) => {
                self.watch.forget();
                self.turn.leave();
                self.keep_turn(epoch);
            }
            // Whoever is told of the removal may make it: that is no failure yet.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => self.put_writing_off(),
            Err(error) => self.failed("mkdir()", &self.root, error),
        }
        !self.is_removed()
    }

    /// Clears the zone where somebody removed the folder, and makes that anew.
    pub(crate) fn notice_removed_folder(self: &Arc<Self>) {
        if !self.is_removed() {
            return;
        }
        let is_news = !self.folder.is_told.swap(true, Relaxed);
        if !is_news && !self.is_time_to_write() {
            return;
        }
        let is_made = self.remake_folder();
        if is_news || !is_made {
            self.tell(&DiskEvent::Removed { path: self.root.clone(), is_made, is_news });
        }
        if is_news {
            if let Some(above) = self.above.upgrade() {
                above.forget_all();
            }
            // What is being written is meant as well.
            let gone = self.catalogue.lock().remove_all();
            self.counts.vanished.fetch_add(gone as u64, Relaxed);
            self.bury_soon();
        }
        if is_made {
            self.folder.is_told.store(false, Relaxed);
            self.trouble_is_over();
        }
    }
}
