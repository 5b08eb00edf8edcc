//! Operations of a disk tier for tests, excluded from release builds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::index::{FileName, PurgeSet, SoftPurgedPage};
use parking_lot::Mutex;

pub use crate::faults::Operation;

use crate::pool::Maintain;
use crate::purge_log::PurgeLog;
use crate::{DiskPool, DiskStore, PageId, sequence};

/// Maximum number of files marked as removed up to which a failed write marks the former file of its page without
/// checking that this file exists. From this number on, it checks first.
pub const MAX_UNCHECKED_DOOMED: usize = crate::disk::MAX_UNCHECKED_DOOMED;
/// Quantity of sequence numbers per start.
pub const EPOCH: u64 = sequence::EPOCH;

/// Temporary folder that is removed when it is dropped.
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Creates a folder, in memory (`/dev/shm`) if possible, because the tests sync thousands of files.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = folder.join(format!("myriad-store-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns all files below the folder that are not hidden, sorted.
    pub fn files(&self) -> Vec<PathBuf> {
        fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let hidden = entry.file_name().to_string_lossy().starts_with('.');
                if entry.path().is_dir() && !hidden {
                    walk(&entry.path(), found);
                } else if !hidden {
                    found.push(entry.path());
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.0, &mut found);
        found.sort();
        found
    }

    /// Returns the disk space of the files that are not hidden in bytes, in multiples of 4 KB per file.
    pub fn bytes(&self) -> u64 {
        self.files().iter().map(|path| fs::metadata(path).unwrap().len().div_ceil(4096) * 4096).sum()
    }
}

impl Default for TempFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for TempFolder {
    /// Removes the folder. Repeats this if another thread, such as one of a [`DiskPool`], creates a file meanwhile.
    fn drop(&mut self) {
        let is_filled = |error: &io::Error| error.kind() == io::ErrorKind::DirectoryNotEmpty;
        while fs::remove_dir_all(&self.0).is_err_and(|error| is_filled(&error)) {
            std::thread::yield_now();
        }
    }
}

/// Returns the purges in the log of a folder.
pub fn logged_purges(folder: &Path) -> PurgeSet {
    PurgeLog::open(folder).unwrap().0.book
}

/// Returns the first sequence number of the newest start that used a folder.
pub fn newest_start(folder: &Path) -> Option<u64> {
    sequence::read(&sequence::path(folder))
}

/// Stores `number` as the first sequence number of the newest start.
pub fn write_start(folder: &Path, number: u64) {
    sequence::write(folder, number).unwrap();
}

impl DiskStore {
    /// Makes operations fail with the errors that `inject` returns.
    pub fn inject(&self, inject: impl FnMut(Operation, &Path) -> Option<io::Error> + Send + 'static) {
        self.file_store.files.faults.inject(inject);
    }

    /// Makes the file system appear to have the number of free bytes that `free` returns.
    pub fn set_free_space(&self, free: impl Fn() -> u64 + Send + 'static) {
        self.file_store.files.faults.set_free_space(free);
    }

    /// Pauses writing, as after a failed write.
    pub fn pause_writes(&self) {
        self.file_store.health.pause_writes();
    }

    /// Resumes writing, and reports recovery after failures.
    pub fn report_recovery(&self) {
        self.file_store.health.report_recovery_now();
    }

    /// Removes and returns the pages in memory that soft purges have covered and that the tier has not processed yet.
    pub fn take_softened(&self) -> Vec<SoftPurgedPage> {
        self.file_store.memory.upgrade().map_or_else(Vec::new, |memory| memory.take_softened())
    }

    /// Returns the number of files that are marked as removed and not deleted yet.
    pub fn doomed(&self) -> usize {
        self.file_store.file_index.lock().doomed()
    }

    /// Marks a file as removed, whether it exists or not.
    pub fn doom(&self, name: FileName, hash: u128) {
        self.file_store.file_index.lock().doom_unknown(name, hash);
    }

    /// Returns the number of files plus their shares for labels, which is compared with the limit of files.
    pub fn weighted_len(&self) -> usize {
        self.file_store.file_index.lock().weighted_len()
    }

    /// Cancels the pending write of a key without variants, as a purge would do.
    pub fn cancel_write(&self, hash: u128) {
        self.file_store.file_index.lock().writes.cancel(hash, None);
    }

    /// Unregisters a write as failed, and marks the page's former file as removed.
    pub fn abandon_write(&self, page: &PageId<'_>, number: u64) {
        self.finish_failed_write(page, number);
    }

    /// Runs a round of maintenance. Returns the pause before the next round.
    pub fn maintain(&self) -> Duration {
        Arc::clone(&self.maintenance).maintain()
    }

    /// Returns the first sequence number of this start; `None` until the folder could be written.
    pub fn epoch(&self) -> Option<u64> {
        self.maintenance.epoch()
    }

    /// Runs `job` while the recovery is locked, as if a step were in progress.
    pub fn during_recovery(&self, job: impl FnOnce()) {
        self.maintenance.recovery.during(job);
    }

    /// Returns true if no thread is using the purge log.
    pub fn is_log_free(&self) -> bool {
        self.purges.is_log_free()
    }

    /// Returns the number of syncs of the file system before purges were forgotten.
    pub fn syncs(&self) -> u64 {
        self.purges.syncs.load(Relaxed)
    }

    /// Returns true if a purge has waited for the first step of the recovery.
    pub fn was_waited_for(&self) -> bool {
        self.purges.first_stretch.was_waited_for()
    }

    /// Returns true if this process holds the writer lease.
    pub fn holds_lease(&self) -> bool {
        self.file_store.lease.is_held()
    }

    /// Releases the writer lease, like the exit of the process.
    pub fn release_lease(&self) {
        self.file_store.lease.release();
    }

    /// Makes the maintenance check all files in turn, as if folders could not be watched.
    pub fn disable_watch(&self) {
        self.file_store.files.watch.has_unwatched.store(true, Relaxed);
    }
}

/// Pseudo-folder whose maintenance runs a job of the test.
struct Busy(Mutex<Box<dyn FnMut() + Send>>);

impl Maintain for Busy {
    fn maintain(self: Arc<Self>) -> Duration {
        (self.0.lock())();
        Duration::from_millis(200)
    }
}

impl DiskPool {
    /// Runs `job` on the maintenance thread in each round, before folders registered later, until the result is
    /// dropped.
    pub fn keep_busy(&self, job: impl FnMut() + Send + 'static) -> Arc<dyn Send + Sync> {
        let busy = Arc::new(Busy(Mutex::new(Box::new(job))));
        let tended: Arc<dyn Maintain> = Arc::clone(&busy) as Arc<_>;
        self.register(Arc::downgrade(&tended));
        busy
    }
}
