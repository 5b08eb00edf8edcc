//! Interface of the disk tier for the zone.

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

use crate::index::{ExactPurge, PurgeRecord, Purging, Seed};
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

/// Maximum number of doomed files that are removed at shutdown; the keys of the others are logged as purged.
const BURIED_AT_LAST: usize = 4096;

/// Files of a zone's pages, in a folder that outlives the process.
pub struct Disk {
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) purges: Arc<Purges>,
    pub(crate) keeper: Arc<Keeper>,
    /// Pages to write again: hash of the key and generation, and the time of the write in milliseconds.
    changed: Mutex<HashMap<(u128, u64), u64>>,
    backlog: Backlog,
}

impl Disk {
    /// Returns the seed of the folder at `path`. A folder without a seed gets `own`. If the folder cannot be used,
    /// `own` is the seed of this run.
    pub fn seed_of(path: &Path, own: Seed) -> Seed {
        secret::take(path, own)
    }

    /// Creates a tier whose keys are hashed with [`Self::seed_of`] its folder, and whose metadata has `version`. It is
    /// used from [`Self::begin`] on.
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

    /// Opens the folder, and registers it with the keeper of the pool. A folder that cannot be used is retried
    /// periodically.
    pub fn begin(&self) {
        self.keeper.begin();
        let keeper: Weak<dyn Tend> = Arc::downgrade(&self.keeper) as Weak<_>;
        self.shelf.pool.keep(keeper);
    }

    /// Returns the seed of the keys' hashes.
    pub fn seed(&self) -> Seed {
        self.shelf.files.seed
    }

    /// Returns the time in milliseconds, by the clock of the options.
    pub fn now(&self) -> u64 {
        self.shelf.health.now()
    }

    /// Returns the current limits.
    pub fn limits(&self) -> DiskLimits {
        *self.shelf.limits.read()
    }

    /// Changes the limits. Excess files are removed soon.
    pub fn set_limits(&self, limits: DiskLimits) {
        *self.shelf.limits.write() = limits;
        self.rouse();
    }

    /// Wakes the keeper for this folder.
    pub fn rouse(&self) {
        self.shelf.pool.rouse();
    }

    /// Returns the current statistics.
    pub fn stats(&self) -> DiskStats {
        self.shelf.stats()
    }

    /// Queues a job for a reading thread. Returns false if the queue is full.
    pub fn on_reader(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.shelf.pool.read(Box::new(job)).is_ok()
    }

    /// Returns a writer for a body of at least `len` bytes that is too long for memory; `None` if writing is not
    /// possible, or if the body would be too long for the disk as well.
    pub fn begin_spill(&self, len: u64) -> Option<Spill> {
        let shelf = &self.shelf;
        let fits = shelf.may_write() && shelf.health.has_begun() && len <= shelf.most_of_one();
        fits.then(|| Spill::new(shelf))
    }

    /// Logs a purge that is already in force, and finds its files. It completes once the purge survives a crash.
    pub fn purge(&self, record: PurgeRecord, exact: Option<Arc<ExactPurge>>) -> Purging {
        self.purges.purge(record, exact)
    }

    /// Returns the number up to which rules have checked all files.
    pub fn asked(&self) -> u64 {
        self.purges.asked()
    }

    /// Returns the number up to which purges concern no file any more.
    pub fn settled(&self) -> u64 {
        self.purges.settled()
    }

    /// Writes pending pages for up to `patience`, and the catalogue for the next start. After this, nothing is written.
    ///
    /// The key of a page that could not be written in time is logged as purged, so that its outdated file is not served
    /// after the restart.
    pub fn close(&self, patience: Duration) {
        let shelf = &self.shelf;
        shelf.pool.settle(patience);
        shelf.health.closed.store(true, Relaxed);
        // Waits for jobs queued before the close.
        let settled = shelf.pool.settle(patience);
        if shelf.lease.is_lost() {
            // Another process writes by now, and would not apply records of this process.
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
