//! Interface of the disk tier for the zone.

mod find;
mod inspect;
mod remove;
mod write;

#[cfg(any(test, feature = "testing"))]
pub(crate) use write::MAX_UNCHECKED_DOOMED;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::index::{ExactPurge, PurgeFuture, PurgeRecord, Seed};
use parking_lot::Mutex;

use crate::backlog::Backlog;
use crate::file_store::FileStore;
use crate::folder::FolderHandle;
use crate::hash_seed;
use crate::maintenance::FolderMaintenance;
use crate::memory_tier::MemoryTier;
use crate::options::{DiskLimits, DiskOptions, DiskStats};
use crate::pool::{DiskPool, Maintain};
use crate::purges::Purges;
use crate::spill::SpillWriter;

/// Maximum number of doomed files that are removed at shutdown; the keys of the others are logged as purged.
const MAX_REMOVED_AT_SHUTDOWN: usize = 4096;

/// Files of a zone's pages, in a folder that outlives the process.
pub struct DiskStore {
    pub(crate) file_store: Arc<FileStore>,
    pub(crate) purges: Arc<Purges>,
    pub(crate) maintenance: Arc<FolderMaintenance>,
    /// Pages to write again: hash of the key and generation, and the time of the write in milliseconds.
    changed: Mutex<HashMap<(u128, u64), u64>>,
    backlog: Backlog,
}

impl DiskStore {
    /// Returns the seed of the folder at `path`. A folder without a seed gets `own`. If the folder cannot be used,
    /// `own` is the seed of this run.
    pub fn folder_seed(path: &Path, own: Seed) -> Seed {
        hash_seed::take(path, own)
    }

    /// Creates a tier whose keys are hashed with [`Self::folder_seed`] its folder, and whose metadata has `version`. It is
    /// used from [`Self::begin`] on.
    pub fn new(
        options: DiskOptions,
        seed: Seed,
        version: u16,
        pool: &DiskPool,
        memory: Weak<dyn MemoryTier>,
    ) -> Self {
        let file_store = Arc::new(FileStore::new(options, seed, version, pool, memory));
        let folder = Arc::new(FolderHandle::new(&file_store));
        let purges = Arc::new(Purges::new(&file_store, &folder));
        Self {
            maintenance: Arc::new(FolderMaintenance::new(&file_store, &folder, &purges)),
            file_store,
            purges,
            changed: Mutex::default(),
            backlog: Backlog::default(),
        }
    }

    /// Opens the folder, and registers it with the keeper of the pool. A folder that cannot be used is retried
    /// periodically.
    pub fn begin(&self) {
        self.maintenance.begin();
        let maintenance: Weak<dyn Maintain> = Arc::downgrade(&self.maintenance) as Weak<_>;
        self.file_store.pool.register(maintenance);
    }

    /// Returns the seed of the keys' hashes.
    pub fn seed(&self) -> Seed {
        self.file_store.files.seed
    }

    /// Returns the time in milliseconds, by the clock of the options.
    pub fn now(&self) -> u64 {
        self.file_store.health.now()
    }

    /// Returns the current limits.
    pub fn limits(&self) -> DiskLimits {
        *self.file_store.limits.read()
    }

    /// Changes the limits. Excess files are removed soon.
    pub fn set_limits(&self, limits: DiskLimits) {
        *self.file_store.limits.write() = limits;
        self.wake_maintenance();
    }

    /// Wakes the keeper for this folder.
    pub fn wake_maintenance(&self) {
        self.file_store.pool.wake_maintenance();
    }

    /// Returns the current statistics.
    pub fn stats(&self) -> DiskStats {
        self.file_store.stats()
    }

    /// Queues a job for a reading thread. Returns false if the queue is full.
    pub fn on_reader(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.file_store.pool.read(Box::new(job)).is_ok()
    }

    /// Returns a writer for a body of at least `len` bytes that is too long for memory; `None` if writing is not
    /// possible, or if the body would be too long for the disk as well.
    pub fn begin_spill(&self, len: u64) -> Option<SpillWriter> {
        let file_store = &self.file_store;
        let fits =
            file_store.may_write() && file_store.health.has_begun() && len <= file_store.max_page_bytes();
        fits.then(|| SpillWriter::new(file_store))
    }

    /// Logs a purge that is already in force, and finds its files. It completes once the purge survives a crash.
    pub fn purge(&self, record: PurgeRecord, exact: Option<Arc<ExactPurge>>) -> PurgeFuture {
        self.purges.purge(record, exact)
    }

    /// Returns the number up to which rules have checked all files.
    pub fn checked_through(&self) -> u64 {
        self.purges.checked_through()
    }

    /// Returns the number up to which purges concern no file any more.
    pub fn forgotten_through(&self) -> u64 {
        self.purges.forgotten_through()
    }

    /// Writes pending pages for up to `patience`, and the catalogue for the next start. After this, nothing is written.
    ///
    /// The key of a page that could not be written in time is logged as purged, so that its outdated file is not served
    /// after the restart.
    pub fn close(&self, patience: Duration) {
        let file_store = &self.file_store;
        file_store.pool.wait_until_idle(patience);
        file_store.health.closed.store(true, Relaxed);
        // Waits for jobs queued before the close.
        let settled = file_store.pool.wait_until_idle(patience);
        if file_store.lease.is_lost() {
            // Another process writes by now, and would not apply records of this process.
            return;
        }
        file_store.remove_some_doomed(MAX_REMOVED_AT_SHUTDOWN);
        self.maintenance.write_last_snapshot(settled);
        self.purges.purge_outdated(self.backlog.take(usize::MAX));
        file_store.lease.release();
    }
}

impl fmt::Debug for DiskStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("shelf", &self.file_store).finish_non_exhaustive()
    }
}
