//! Whose turn it is to write, in a folder that two processes use, as during an upgrade of the binary.
//!
//! ```text
//!   starts --> waits --> writes --> a newer one starts: waits --> that one is gone: writes
//! ```
//!
//! One process writes at a time: it holds a lock, and leaves it to a newer one within a round. That one goes through the
//! folder only then, so that it knows every file, and no purge is forgotten while there is a file that it covers. Whoever
//! waits serves from memory and reads files, and removes none: what has the name of one that it knows may be the other's by
//! now. What it fetches meanwhile stays in its memory.
//!
//! Where the newer one ends first, the older one removes what that has written, of which it knows nothing, and what it would
//! have removed itself, writes what it has fetched, and goes on.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::sequence::{self, EPOCH};
use super::shelf::Shelf;

/// How long a newer process may take to come for its turn. Then it counts as gone; should it come nevertheless, it waits.
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

/// The first number of the start whose process had the turn last; zero where nobody had it.
fn last_of(lock: &File) -> u64 {
    let mut number = [0; 8];
    lock.read_exact_at(&mut number, 0).map_or(0, |()| u64::from_le_bytes(number))
}

/// The turn of one process.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// The lock. Whoever gives a file its name, or removes one, reads this meanwhile.
    lock: RwLock<Option<File>>,
    is_held: AtomicBool,
    was_held: AtomicBool,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    since: Option<Instant>,
    /// The file of the lock was not there a round ago.
    missed: bool,
    /// The newest start whose process is gone.
    gone: u64,
}

impl Turn {
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(SeqCst)
    }

    /// Whether a newer process has taken over.
    pub(crate) fn is_lost(&self) -> bool {
        !self.is_held() && self.was_held.load(SeqCst)
    }

    /// Nobody else gets the turn while this lives; `None` where another has it, or is about to. Never waits, so that it may be
    /// asked under any lock.
    pub(crate) fn hold(&self) -> Option<RwLockReadGuard<'_, Option<File>>> {
        self.lock.try_read().filter(|lock| lock.is_some())
    }

    /// Leaves the turn to others, once what is being written has its name.
    pub(crate) fn leave(&self) {
        self.is_held.store(false, SeqCst);
        *self.lock.write() = None;
        self.waiting.lock().since = None;
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
}

impl Shelf {
    /// Takes the turn where it is free, and leaves it to a newer process; whether this one may write. `own` is the first number
    /// of its start.
    pub(crate) fn keep_turn(&self, own: u64) -> bool {
        if self.folder.is_foreign.load(Relaxed) && !self.says_own_seed() {
            return false;
        }
        let newest = sequence::read(&sequence::path(&self.root)).unwrap_or(own);
        if self.turn.is_held() {
            let is_last = newest <= own.max(self.turn.waiting.lock().gone);
            if is_last && (self.turn.is_there(&self.root) || self.turn.is_news()) {
                return true;
            }
            self.turn.leave();
            if !is_last {
                return false;
            }
        }
        match take(&self.root) {
            Ok(Some(lock)) => self.begin_turn(lock, own, newest),
            Ok(None) => false,
            // Somebody removed the folder, which is noticed elsewhere.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => {
                self.troubled("flock()", &path(&self.root), error);
                false
            }
        }
    }

    fn begin_turn(&self, lock: File, own: u64, newest: u64) -> bool {
        {
            let mut waiting = self.turn.waiting.lock();
            let since = *waiting.since.get_or_insert_with(Instant::now);
            let is_newer = newest > own.max(waiting.gone);
            if is_newer && last_of(&lock) < newest && since.elapsed() < COMES_WITHIN {
                return false;
            }
            if is_newer {
                waiting.gone = newest;
                self.recovery.lock().begin_voiding(&self.root, own.saturating_add(EPOCH));
            }
        }
        if let Err(error) = lock.write_all_at(&own.to_le_bytes(), 0) {
            // An older one waits a while longer should this one end: no page is lost for that.
            self.troubled("write()", &path(&self.root), error);
        }
        *self.turn.lock.write() = Some(lock);
        self.turn.was_held.store(true, SeqCst);
        self.turn.is_held.store(true, SeqCst);
        true
    }
}
