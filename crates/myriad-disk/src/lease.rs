//! Writer lease: determines which process writes to a folder that two processes use, as during an upgrade of the
//! binary.
//!
//! ```text
//!   starts --> waits --> writes --> a newer process starts: waits --> the newer process is gone: writes
//! ```
//!
//! One process writes at a time. It holds a lock, and releases it to a newer process within a round. Only then the
//! newer process walks the folder, so that it finds every file, and no purge is forgotten while a file that it covers
//! exists. A process that waits serves from memory and reads files, but removes none: the other process may have
//! replaced a file. Pages that it fetches meanwhile remain in its memory.
//!
//! If the newer process shuts down first, the older process takes the lease again. It removes the files that the newer
//! process has written, which it does not know, and the files that it would have removed itself. It writes the pages
//! that it has fetched, and continues.

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

/// Maximum time until a newer process takes the lease. After that it counts as gone; if it requests the lease later, it
/// waits.
const TAKEOVER_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the path of the lock file. `rm -rf cache/*` does not match it.
fn path(root: &Path) -> PathBuf {
    root.join(".writer")
}

/// Takes the lock; `None` if another process has it.
fn take(root: &Path) -> io::Result<Option<File>> {
    let mut open = File::options();
    let file = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(path(root))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the first number of the start whose process had the lease last; zero if no process has had it.
fn last_of(lock: &File) -> u64 {
    let mut number = [0; 8];
    lock.read_exact_at(&mut number, 0).map_or(0, |()| u64::from_le_bytes(number))
}

/// State of the lease in this process.
#[derive(Debug, Default)]
pub(crate) struct WriterLease {
    /// Lock file. It is locked for reading while a file is renamed to its name or removed.
    lock: RwLock<Option<File>>,
    is_held: AtomicBool,
    was_held: AtomicBool,
    /// Set if the folder has another seed than this run, which then does not write into the folder.
    is_foreign: AtomicBool,
    waiting: Mutex<LeaseWait>,
}

#[derive(Debug, Default)]
struct LeaseWait {
    since: Option<Instant>,
    /// Set if the lock file was missing a round ago.
    missed: bool,
    /// Newest start whose process is gone.
    gone: u64,
    /// Number from which on files of fetches must be removed, because a process that is gone wrote them.
    void: Option<u64>,
}

impl WriterLease {
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(SeqCst)
    }

    /// Returns whether a newer process has taken over.
    pub(crate) fn is_lost(&self) -> bool {
        !self.is_held() && self.was_held.load(SeqCst)
    }

    /// Retains the lease while the guard lives; `None` if another process has it or is about to take it. Never blocks,
    /// so it may be called under any lock.
    pub(crate) fn hold(&self) -> Option<RwLockReadGuard<'_, Option<File>>> {
        self.lock.try_read().filter(|lock| lock.is_some())
    }

    /// Releases the lease, after files in progress have been renamed to their names.
    pub(crate) fn release(&self) {
        self.is_held.store(false, SeqCst);
        *self.lock.write() = None;
        self.waiting.lock().since = None;
    }

    /// Returns, once, the number from which on files of another process must be removed.
    pub(crate) fn take_void_from(&self) -> Option<u64> {
        self.waiting.lock().void.take()
    }

    /// Returns whether the path still refers to the locked file: the folder may have been removed.
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

    /// Returns whether the file existed a round ago. The folder may be in the process of being removed, and a new file
    /// in it would make this fail.
    fn is_news(&self) -> bool {
        !std::mem::replace(&mut self.waiting.lock().missed, true)
    }

    /// Takes the lease if it is free, and releases it to a newer process. Returns whether this process may write. `own`
    /// is the first number of its start.
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
            // If this process shuts down, an older process only waits longer for the lease.
            health.record_failure("write()", &path(root), error);
        }
        *self.lock.write() = Some(lock);
        self.was_held.store(true, SeqCst);
        self.is_held.store(true, SeqCst);
        true
    }

    /// Writes the seed of this run into a folder that has none. A folder with another or an unreadable seed is not
    /// changed, because its files need that seed. Must be called under the lock of the log.
    pub(crate) fn store_seed(&self, files: &FolderLayout, health: &FolderHealth) -> io::Result<()> {
        let error = match hash_seed::read(&files.root) {
            Ok(Some(seed)) if seed == files.seed => return Ok(()),
            Ok(None) => return hash_seed::write(&files.root, files.seed),
            Ok(Some(_)) => {
                self.is_foreign.store(true, SeqCst);
                self.release();
                io::Error::other("its seed is from another run: the folder is used after the next start")
            }
            Err(error) => error,
        };
        let kind = error.kind();
        health.record_write_failure("open()", &hash_seed::path(&files.root), error);
        Err(kind.into())
    }

    /// Returns whether the folder has the seed of this run.
    pub(crate) fn has_own_seed(&self, files: &FolderLayout) -> bool {
        let is_own = hash_seed::read(&files.root).is_ok_and(|seed| seed == Some(files.seed));
        if is_own {
            self.is_foreign.store(false, SeqCst);
        }
        is_own
    }
}
