//! Writer lease: determines which of two processes writes to a folder that both use, as during an upgrade of the
//! binary.
//!
//! ```text
//!   starts --> waits --> writes --> a newer process starts: waits --> the newer process is gone: writes
//! ```
//!
//! One process writes at a time: the process that holds a lock on a file. It releases the lock to a newer process
//! within one maintenance round. Only after that the newer process scans the folder, so that it finds every file, and
//! no purge is forgotten while a file that it covers exists. A process without the lease serves from memory and reads
//! files, but deletes none, because the other process may have replaced them. Pages that it fetches remain in its
//! memory.
//!
//! If the newer process exits first, the older process takes the lease again. It deletes the files that the newer
//! process has written, which it does not know, and those that it would have deleted itself. Then it writes the pages
//! that it has fetched meanwhile.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::files::FolderLayout;
use crate::hash_seed;
use crate::health::FolderHealth;
use crate::sequence::{self, EPOCH};

/// Maximum time that a released writer lease is left to a newer process. After that, the newer process counts as gone;
/// if it wants the lease later, it must wait.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the path of the lock file of the writer lease, hidden so that `rm -rf cache/*` does not match it.
fn path(root: &Path) -> PathBuf {
    root.join(".writer")
}

/// Locks the lock file of a zone's folder, and creates it if necessary; `None` if another process has locked it.
fn take(root: &Path) -> io::Result<Option<File>> {
    let mut open = File::options();
    let file = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(path(root))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the first sequence number of the start that held the lease last; 0 if none has.
fn last_of(lock: &File) -> u64 {
    let mut number = [0; 8];
    lock.read_exact_at(&mut number, 0).map_or(0, |()| u64::from_le_bytes(number))
}

/// State of the writer lease in this process. The lease permits one process at a time to write to a zone's folder.
#[derive(Debug, Default)]
pub(crate) struct WriterLease {
    /// Locked file; `None` without the lease. The field is read-locked while a page file is renamed or deleted.
    lock: RwLock<Option<File>>,
    is_held: AtomicBool,
    was_held: AtomicBool,
    /// Set if the folder has another hash seed than this run, which then must not write to it.
    is_foreign: AtomicBool,
    waiting: Mutex<LeaseWait>,
}

#[derive(Debug, Default)]
struct LeaseWait {
    since: Option<Instant>,
    /// Set if the lock file was missing in the last maintenance round.
    missed: bool,
    /// First sequence number of the newest start whose process is gone, or counts as gone after [`TAKEOVER_TIMEOUT`].
    gone: u64,
    /// Lowest sequence number of the fetches whose files must be deleted, because a process that is gone wrote them;
    /// `None` if there are none.
    void: Option<u64>,
}

impl WriterLease {
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(SeqCst)
    }

    /// Returns true if this process had the writer lease and does not have it now.
    pub(crate) fn is_lost(&self) -> bool {
        !self.is_held() && self.was_held.load(SeqCst)
    }

    /// Returns a guard that prevents the release of the lease while it exists; `None` if this process does not have the
    /// lease or is about to release it. Never blocks, so it may be called under any lock.
    pub(crate) fn hold(&self) -> Option<RwLockReadGuard<'_, Option<File>>> {
        self.lock.try_read().filter(|lock| lock.is_some())
    }

    /// Releases the writer lease, once page files that are being renamed or deleted are done.
    pub(crate) fn release(&self) {
        self.is_held.store(false, SeqCst);
        *self.lock.write() = None;
        self.waiting.lock().since = None;
    }

    /// Returns, only once, the lowest sequence number of the fetches whose files must be deleted, because a process
    /// that is gone wrote them; `None` if there are none.
    pub(crate) fn take_void_from(&self) -> Option<u64> {
        self.waiting.lock().void.take()
    }

    /// Returns true if the path of the lock file still refers to the locked file, and then resets `missed`. False if,
    /// for example, the folder was removed.
    fn is_there(&self, root: &Path) -> bool {
        let lock = self.lock.read();
        let own = lock.as_ref().and_then(|file| file.metadata().ok());
        let is_it = own
            .is_some_and(|own| fs::symlink_metadata(path(root)).is_ok_and(|named| named.ino() == own.ino()));
        if is_it {
            self.waiting.lock().missed = false;
        }
        is_it
    }

    /// Records that the lock file is missing. Returns true if it was still present in the last maintenance round. The
    /// caller then creates no lock file in this round: the folder may be in the process of being removed, and a new
    /// file in it would make the removal fail.
    fn is_news(&self) -> bool {
        !std::mem::replace(&mut self.waiting.lock().missed, true)
    }

    /// Takes the writer lease if it is free, and releases it if a newer process has started. A free lease is left to a
    /// newer process for up to [`TAKEOVER_TIMEOUT`]. Returns true if this process may write now, which is not the
    /// case once the folder was found to have another hash seed. `own` is the first sequence number of the start of
    /// this process.
    pub(crate) fn acquire_or_renew(&self, files: &FolderLayout, health: &FolderHealth, own: u64) -> bool {
        if self.is_foreign.load(SeqCst) && !self.has_own_seed(files) {
            return false;
        }
        let root = &files.root;
        let newest = sequence::read(&sequence::path(root)).unwrap_or(own);
        if self.is_held() {
            let is_last = newest <= own.max(self.waiting.lock().gone);
            if is_last && (self.is_there(root) || self.is_news()) {
                return true;
            }
            self.release();
            if !is_last {
                return false;
            }
        }
        match take(root) {
            Ok(Some(lock)) => self.begin(lock, (root, health), own, newest),
            Ok(None) => false,
            // The folder was removed, which is detected elsewhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => {
                health.record_failure("flock()", &path(root), error);
                false
            }
        }
    }

    fn begin(&self, lock: File, (root, health): (&Path, &FolderHealth), own: u64, newest: u64) -> bool {
        {
            let mut waiting = self.waiting.lock();
            let since = *waiting.since.get_or_insert_with(Instant::now);
            let is_newer = newest > own.max(waiting.gone);
            if is_newer && last_of(&lock) < newest && since.elapsed() < TAKEOVER_TIMEOUT {
                return false;
            }
            if is_newer {
                waiting.gone = newest;
                waiting.void = Some(own.saturating_add(EPOCH));
            }
        }
        if let Err(error) = lock.write_all_at(&own.to_le_bytes(), 0) {
            // The number is only needed if this process exits: an older process then waits longer for the lease.
            health.record_failure("write()", &path(root), error);
        }
        *self.lock.write() = Some(lock);
        self.was_held.store(true, SeqCst);
        self.is_held.store(true, SeqCst);
        true
    }

    /// Writes the seed of this run into a folder that has none or a damaged one. Returns an error, and does not change
    /// the folder, if it has another seed, which its files need, or its seed cannot be read. With another seed, the
    /// lease is released. Must be called while the purge log is locked.
    pub(crate) fn store_seed(&self, files: &FolderLayout, health: &FolderHealth) -> io::Result<()> {
        let error = match hash_seed::read(&files.root) {
            Ok(Some(seed)) if seed == files.seed => return Ok(()),
            Ok(None) => return hash_seed::write(&files.root, files.seed),
            Ok(Some(_)) => {
                self.is_foreign.store(true, SeqCst);
                self.release();
                io::Error::other("the folder has another hash seed: it is used after the next restart")
            }
            Err(error) => error,
        };
        let kind = error.kind();
        health.record_write_failure("open()", &hash_seed::path(&files.root), error);
        Err(kind.into())
    }

    /// Returns true if the folder has the hash seed of this run; this process may then take the lease again.
    pub(crate) fn has_own_seed(&self, files: &FolderLayout) -> bool {
        let is_own = hash_seed::read(&files.root).is_ok_and(|seed| seed == Some(files.seed));
        if is_own {
            self.is_foreign.store(false, SeqCst);
        }
        is_own
    }
}
