//! The writer lease: which process writes, in a folder that two use, as during an upgrade of the binary.
//!
//! ```text
//!   starts --> waits --> writes --> a newer one starts: waits --> that one is gone: writes
//! ```
//!
//! One process writes at a time: it holds a lock, and leaves it to a newer process within a round. The newer one walks the
//! folder only then, so that it knows every file, and no purge is forgotten while there is a file that it covers. A process
//! that waits serves from memory and reads files, but removes none: a file that it knows may have been replaced by the other
//! process. Pages that it fetches meanwhile stay in its memory.
//!
//! Where the newer process ends first, the older one takes the lease again. It removes the files that the newer one has
//! written, which it does not know, and those that it would have removed itself; it writes the pages that it has fetched, and
//! goes on.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::files::Files;
use crate::health::Health;
use crate::secret;
use crate::sequence::{self, EPOCH};

/// How long a newer process may take to come for the lease. After that it counts as gone; if it comes nevertheless, it waits.
const COMES_WITHIN: Duration = Duration::from_secs(10);

/// The file; `rm -rf cache/*` passes by it.
fn path(root: &Path) -> PathBuf {
    root.join(".writer")
}

/// Takes the lock; `None` where another process has it.
fn take(root: &Path) -> io::Result<Option<File>> {
    let mut open = File::options();
    let file = open.read(true).write(true).create(true).truncate(false).mode(0o600).open(path(root))?;
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The first number of the start whose process had the lease last; zero where nobody had it.
fn last_of(lock: &File) -> u64 {
    let mut number = [0; 8];
    lock.read_exact_at(&mut number, 0).map_or(0, |()| u64::from_le_bytes(number))
}

/// The lease as one process sees it.
#[derive(Debug, Default)]
pub(crate) struct WriterLease {
    /// The lock. It is held for reading while a file gets its name, or is removed.
    lock: RwLock<Option<File>>,
    is_held: AtomicBool,
    was_held: AtomicBool,
    /// Whether the folder has another seed than this run, which does not write into it then.
    is_foreign: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    since: Option<Instant>,
    /// Whether the file of the lock was not there a round ago.
    missed: bool,
    /// The newest start whose process is gone.
    gone: u64,
    /// Files of fetches that began with this number or later are to be removed: a process wrote them that is gone.
    void: Option<u64>,
}

impl WriterLease {
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(SeqCst)
    }

    /// Whether a newer process has taken over.
    pub(crate) fn is_lost(&self) -> bool {
        !self.is_held() && self.was_held.load(SeqCst)
    }

    /// Keeps the lease while the guard lives; `None` where another process has it, or is about to take it. Never waits, so that it
    /// may be asked under any lock.
    pub(crate) fn hold(&self) -> Option<RwLockReadGuard<'_, Option<File>>> {
        self.lock.try_read().filter(|lock| lock.is_some())
    }

    /// Leaves the lease to others, once what is being written has its name.
    pub(crate) fn leave(&self) {
        self.is_held.store(false, SeqCst);
        *self.lock.write() = None;
        self.waiting.lock().since = None;
    }

    /// The number from which on files are to be removed, if another process has left such; given once.
    pub(crate) fn take_void(&self) -> Option<u64> {
        self.waiting.lock().void.take()
    }

    /// Whether the lock is still the file of its name: somebody may have removed the folder.
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

    /// Whether the file was there a round ago: somebody may be removing the folder at this moment, and a file that is made
    /// in it would be in their way.
    fn is_news(&self) -> bool {
        !std::mem::replace(&mut self.waiting.lock().missed, true)
    }

    /// Takes the lease where it is free, and leaves it to a newer process; whether this one may write. `own` is the first number
    /// of its start.
    pub(crate) fn keep(&self, files: &Files, health: &Health, own: u64) -> bool {
        if self.is_foreign.load(SeqCst) && !self.says_own_seed(files) {
            return false;
        }
        let root = &files.root;
        let newest = sequence::read(&sequence::path(root)).unwrap_or(own);
        if self.is_held() {
            let is_last = newest <= own.max(self.waiting.lock().gone);
            if is_last && (self.is_there(root) || self.is_news()) {
                return true;
            }
            self.leave();
            if !is_last {
                return false;
            }
        }
        match take(root) {
            Ok(Some(lock)) => self.begin(lock, (root, health), own, newest),
            Ok(None) => false,
            // Somebody removed the folder, which is noticed elsewhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => {
                health.troubled("flock()", &path(root), error);
                false
            }
        }
    }

    fn begin(&self, lock: File, (root, health): (&Path, &Health), own: u64, newest: u64) -> bool {
        {
            let mut waiting = self.waiting.lock();
            let since = *waiting.since.get_or_insert_with(Instant::now);
            let is_newer = newest > own.max(waiting.gone);
            if is_newer && last_of(&lock) < newest && since.elapsed() < COMES_WITHIN {
                return false;
            }
            if is_newer {
                waiting.gone = newest;
                waiting.void = Some(own.saturating_add(EPOCH));
            }
        }
        if let Err(error) = lock.write_all_at(&own.to_le_bytes(), 0) {
            // Should this process end, an older one only waits longer for the lease.
            health.troubled("write()", &path(root), error);
        }
        *self.lock.write() = Some(lock);
        self.was_held.store(true, SeqCst);
        self.is_held.store(true, SeqCst);
        true
    }

    /// Writes the seed of this run into a folder that has none. A folder that has another, or whose seed cannot be read, is left
    /// alone: its files need that seed. To be called under the lock of the log.
    pub(crate) fn keep_seed(&self, files: &Files, health: &Health) -> io::Result<()> {
        let error = match secret::read(&files.root) {
            Ok(Some(seed)) if seed == files.seed => return Ok(()),
            Ok(None) => return secret::write(&files.root, files.seed),
            Ok(Some(_)) => {
                self.is_foreign.store(true, SeqCst);
                self.leave();
                io::Error::other("it is not the seed of this run: the folder is used from the next start on")
            }
            Err(error) => error,
        };
        let kind = error.kind();
        health.failed("open()", &secret::path(&files.root), error);
        Err(kind.into())
    }

    /// Whether the folder has the seed of this run.
    pub(crate) fn says_own_seed(&self, files: &Files) -> bool {
        let says_own = secret::read(&files.root).is_ok_and(|seed| seed == Some(files.seed));
        if says_own {
            self.is_foreign.store(false, SeqCst);
        }
        says_own
    }
}
