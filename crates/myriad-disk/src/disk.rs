//! The disk tier as the zone uses it.

mod find;
mod look;
mod remove;
mod write;

#[cfg(any(test, feature = "testing"))]
pub(crate) use write::UNASKED;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use myriad_index::{ExactPurge, PurgeRecord, Purging, Seed};
use parking_lot::Mutex;

use crate::backlog::Backlog;
use crate::folder::Folder;
use crate::keeper::Keeper;
use crate::memory_tier::MemoryTier;
use crate::options::{DiskLimits, DiskOptions, DiskStats};
use crate::pool::{DiskPool, Tend};
use crate::purges::Purges;
use crate::secret;
use crate::shelf::Shelf;
use crate::spill::Spill;

/// Files that are removed at the end of a run, of those that count as gone; the others are noted as purged.
const BURIED_AT_LAST: usize = 4096;

/// The files of a zone's pages, in a folder that outlives the process.
pub struct Disk {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) purges: Arc<Purges>,
    pub(crate) keeper: Arc<Keeper>,
    /// Pages that are to be written anew: hash of the key and generation, and when, in ms.
    changed: Mutex<HashMap<(u128, u64), u64>>,
    backlog: Backlog,
}

impl Disk {
    /// The seed of the folder at `path`; a folder that has none gets `own`. Where the folder cannot be used, `own` is the seed of
    /// this run.
    pub fn seed_of(path: &Path, own: Seed) -> Seed {
        secret::take(path, own)
    }

    /// A tier whose keys are hashed with [`Self::seed_of`] its folder, and whose metadata is of `version`. It is used from
    /// [`Self::begin`] on.
    pub fn new(
        options: DiskOptions,
        seed: Seed,
        version: u16,
        pool: &DiskPool,
        memory: Weak<dyn MemoryTier>,
    ) -> Self {
        let shelf = Arc::new(Shelf::new(options, seed, version, pool, memory));
        let folder = Arc::new(Folder::new(&shelf));
        let purges = Arc::new(Purges::new(&shelf, &folder));
        Self {
            keeper: Arc::new(Keeper::new(&shelf, &folder, &purges)),
            shelf,
            purges,
            changed: Mutex::default(),
            backlog: Backlog::default(),
        }
    }

    /// Opens the folder, and has the pool look after it from now on. A folder that cannot be used is tried again from time to
    /// time.
    pub fn begin(&self) {
        self.keeper.begin();
        let keeper: Weak<dyn Tend> = Arc::downgrade(&self.keeper) as Weak<_>;
        self.shelf.pool.keep(keeper);
    }

    /// The seed that keys are hashed with.
    pub fn seed(&self) -> Seed {
        self.shelf.files.seed
    }

    /// The time in ms, by the clock of the options.
    pub fn now(&self) -> u64 {
        self.shelf.health.now()
    }

    /// The limits in force.
    pub fn limits(&self) -> DiskLimits {
        *self.shelf.limits.read()
    }

    /// Changes the limits; files that are too many are removed soon.
    pub fn set_limits(&self, limits: DiskLimits) {
        *self.shelf.limits.write() = limits;
        self.rouse();
    }

    /// Has the folder looked after now.
    pub fn rouse(&self) {
        self.shelf.pool.rouse();
    }

    /// Figures of this moment.
    pub fn stats(&self) -> DiskStats {
        self.shelf.stats()
    }

    /// Has a job done on a thread that reads; false where too many wait.
    pub fn on_reader(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.shelf.pool.read(Box::new(job)).is_ok()
    }

    /// A way to disk for a body of at least `len` bytes that is too long for memory; `None` where nothing is written, or the
    /// body would be too long for the disk as well.
    pub fn begin_spill(&self, len: u64) -> Option<Spill> {
        let shelf = &self.shelf;
        let fits = shelf.may_write() && shelf.health.has_begun() && len <= shelf.most_of_one();
        fits.then(|| Spill::new(shelf))
    }

    /// Has a purge that is in force already written down, and its files found. Its end comes once it survives a crash.
    pub fn purge(&self, record: PurgeRecord, exact: Option<Arc<ExactPurge>>) -> Purging {
        self.purges.purge(record, exact)
    }

    /// Every file was asked by the rules up to this number.
    pub fn asked(&self) -> u64 {
        self.purges.asked()
    }

    /// Purges up to this number are of no concern to any file any more.
    pub fn settled(&self) -> u64 {
        self.purges.settled()
    }

    /// Writes what waits, for so long at most, and the catalogue for the next start. Nothing is written after this. The key of a
    /// page that could not be written in time is noted as purged: its former file must not come back as if it were the page.
    pub fn close(&self, patience: Duration) {
        let shelf = &self.shelf;
        shelf.pool.settle(patience);
        shelf.health.closed.store(true, Relaxed);
        // Jobs that were begun before that.
        let settled = shelf.pool.settle(patience);
        if shelf.lease.is_lost() {
            // Another process writes by now, and knows nothing of what this one would note.
            return;
        }
        shelf.bury_doomed(BURIED_AT_LAST);
        self.keeper.write_last_snapshot(settled);
        self.purges.void(self.backlog.take(usize::MAX));
        shelf.lease.leave();
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("shelf", &self.shelf).finish_non_exhaustive()
    }
}
