//! Interface of the disk tier: the operations that the zone calls.

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

/// Maximum number of files marked as removed that are deleted at shutdown. The keys of the remaining ones are logged as
/// purged, so that a restart does not serve them.
const MAX_REMOVED_AT_SHUTDOWN: usize = 4096;

/// Disk tier of one zone: the files of its pages, in a folder that outlives the process.
pub struct DiskStore {
    pub(crate) file_store: Arc<FileStore>,
    pub(crate) purges: Arc<Purges>,
    pub(crate) maintenance: Arc<FolderMaintenance>,
    /// Pages whose file lacks an encoding or validity that the page got later: key hash and generation, with the time
    /// at which the file is to be written again, in milliseconds.
    changed: Mutex<HashMap<(u128, u64), u64>>,
    backlog: Backlog,
}

impl DiskStore {
    /// Returns the seed of the key hashes that is stored in the folder at `path`. A folder without a valid seed gets
    /// `own`. If the folder cannot be used now, returns `own`, which is then the seed in this process.
    pub fn folder_seed(path: &Path, own: Seed) -> Seed {
        hash_seed::take(path, own)
    }

    /// Creates the disk tier. `seed` must be the result of [`Self::folder_seed`]; `version` is the caller's version of
    /// its metadata, and files of other versions are invalid. Nothing is read or written before [`Self::begin`].
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

    /// Opens the folder and registers this tier with the maintenance thread of the pool, which periodically retries a
    /// folder that cannot be used.
    pub fn begin(&self) {
        self.maintenance.begin();
        let maintenance: Weak<dyn Maintain> = Arc::downgrade(&self.maintenance) as Weak<_>;
        self.file_store.pool.register(maintenance);
    }

    /// Returns the seed with which cache keys must be hashed for this folder.
    pub fn seed(&self) -> Seed {
        self.file_store.files.seed
    }

    /// Returns the current time in milliseconds, by the clock in [`DiskOptions`].
    pub fn now(&self) -> u64 {
        self.file_store.health.now()
    }

    /// Returns the current limits of disk space and number of files.
    pub fn limits(&self) -> DiskLimits {
        *self.file_store.limits.read()
    }

    /// Changes the limits of disk space and number of files. The maintenance thread removes excess files soon.
    pub fn set_limits(&self, limits: DiskLimits) {
        *self.file_store.limits.write() = limits;
        self.wake_maintenance();
    }

    /// Wakes the maintenance thread of the pool.
    pub fn wake_maintenance(&self) {
        self.file_store.pool.wake_maintenance();
    }

    /// Returns the current statistics of this disk tier.
    pub fn stats(&self) -> DiskStats {
        self.file_store.stats()
    }

    /// Queues a job for a disk-reading thread. Returns false, and drops the job, if the queue is full.
    pub fn on_reader(&self, job: impl FnOnce() + Send + 'static) -> bool {
        self.file_store.pool.read(Box::new(job)).is_ok()
    }

    /// Returns a writer for a body of at least `len` bytes that is too long for memory. Returns `None` if writing is
    /// not possible now, or if `len` exceeds half of the zone's `max_size`.
    pub fn begin_spill(&self, len: u64) -> Option<SpillWriter> {
        let file_store = &self.file_store;
        let fits =
            file_store.may_write() && file_store.health.has_begun() && len <= file_store.max_page_bytes();
        fits.then(|| SpillWriter::new(file_store))
    }

    /// Queues a purge, which already applies to reads, to be written to the purge log. The future completes once the
    /// purge would survive a crash and, for a purge of keys and labels (`exact`), its files are marked as removed or
    /// stale. Files covered by a rule are found later, in the background.
    pub fn purge(&self, record: PurgeRecord, exact: Option<Arc<ExactPurge>>) -> PurgeFuture {
        self.purges.purge(record, exact)
    }

    /// Returns the highest purge number up to which all purges by rule (wildcard, regular expression…) have been
    /// checked against all files.
    pub fn checked_through(&self) -> u64 {
        self.purges.checked_through()
    }

    /// Returns the highest number up to which purges are no longer needed, because no file remains that they could
    /// cover.
    pub fn forgotten_through(&self) -> u64 {
        self.purges.forgotten_through()
    }

    /// Shuts the tier down: waits up to twice `patience` for queued jobs, deletes files marked as removed (at most
    /// [`MAX_REMOVED_AT_SHUTDOWN`]), writes the snapshot of the file index for the next start, and releases the writer
    /// lease. If another process has taken the lease, only waits. Nothing is written after the return.
    ///
    /// The keys of pages that could not be written, and of files that could not be deleted in time, are logged as
    /// purged, so that outdated files are not served after the restart.
    pub fn close(&self, patience: Duration) {
        let file_store = &self.file_store;
        file_store.pool.wait_until_idle(patience);
        file_store.health.closed.store(true, Relaxed);
        // Waits for jobs that were queued before `closed` was set.
        let settled = file_store.pool.wait_until_idle(patience);
        if file_store.lease.is_lost() {
            // Another process writes to the folder now, and would not apply log records of this process.
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
        f.debug_struct("DiskStore").field("file_store", &self.file_store).finish_non_exhaustive()
    }
}
