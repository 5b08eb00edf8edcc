//! Additional operations of a disk tier for tests, excluded from release builds.

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

/// Maximum number of files that may be doomed without a check whether they exist.
pub const MAX_UNCHECKED_DOOMED: usize = crate::disk::MAX_UNCHECKED_DOOMED;
/// Quantity of numbers per start.
pub const EPOCH: u64 = sequence::EPOCH;

/// Folder that is removed with its test.
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Creates a folder, in memory if possible, because thousands of starts sync their writes.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = folder.join(format!("myriad-store-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns all files below it that are not hidden, in order.
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

    /// Returns the number of bytes that the files occupy, in blocks of 4 KB.
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
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns the purges in a folder's log.
pub fn logged_purges(folder: &Path) -> PurgeSet {
    PurgeLog::open(folder).unwrap().0.book
}

/// Returns the first number of the newest start that used a folder.
pub fn newest_start(folder: &Path) -> Option<u64> {
    sequence::read(&sequence::path(folder))
}

/// Records a start in a folder.
pub fn write_start(folder: &Path, number: u64) {
    sequence::write(folder, number).unwrap();
}

impl DiskStore {
    /// Makes operations fail with the errors that `inject` returns.
    pub fn inject(&self, inject: impl FnMut(Operation, &Path) -> Option<io::Error> + Send + 'static) {
        self.file_store.files.faults.inject(inject);
    }

    /// Sets the number of free bytes in the file system.
    pub fn set_free_space(&self, free: impl Fn() -> u64 + Send + 'static) {
        self.file_store.files.faults.set_free_space(free);
    }

    /// Pauses writing, as after a failure.
    pub fn pause_writes(&self) {
        self.file_store.health.pause_writes();
    }

    /// Resumes writing, and reports that it works.
    pub fn report_recovery(&self) {
        self.file_store.health.report_recovery_now();
    }

    /// Returns the pages that soft purges have covered in memory and that the tier has not processed yet.
    pub fn take_softened(&self) -> Vec<SoftPurgedPage> {
        self.file_store.memory.upgrade().map_or_else(Vec::new, |memory| memory.take_softened())
    }

    /// Returns the number of doomed files that have not been removed yet.
    pub fn doomed(&self) -> usize {
        self.file_store.file_index.lock().doomed()
    }

    /// Dooms a file, whether it exists or not.
    pub fn doom(&self, name: FileName, hash: u128) {
        self.file_store.file_index.lock().doom_unknown(name, hash);
    }

    /// Returns the number of files for the limit, including the shares for their labels.
    pub fn weighted_len(&self) -> usize {
        self.file_store.file_index.lock().weighted_len()
    }

    /// Cancels a write in progress, as if memory had dropped the page.
    pub fn cancel_write(&self, hash: u128) {
        self.file_store.file_index.lock().writes.cancel(hash, None);
    }

    /// Finishes a write as failed.
    pub fn abandon_write(&self, page: &PageId<'_>, number: u64) {
        self.finish_failed_write(page, number);
    }

    /// Runs the periodic maintenance. Returns the pause before the next run.
    pub fn maintain(&self) -> Duration {
        Arc::clone(&self.maintenance).maintain()
    }

    /// Returns the first number of this start.
    pub fn epoch(&self) -> Option<u64> {
        self.maintenance.epoch()
    }

    /// Runs a job as if a part of the recovery were in progress.
    pub fn during_recovery(&self, job: impl FnOnce()) {
        self.maintenance.recovery.during(job);
    }

    /// Returns whether no thread is writing to the log of purges.
    pub fn is_log_free(&self) -> bool {
        self.purges.is_log_free()
    }

    /// Returns the number of syncs that made all earlier writes durable, so that purges could be forgotten.
    pub fn syncs(&self) -> u64 {
        self.purges.syncs.load(Relaxed)
    }

    /// Returns whether a purge has waited for the first step of the recovery.
    pub fn was_waited_for(&self) -> bool {
        self.purges.first_stretch.was_waited_for()
    }

    /// Returns whether this tier has the writer lease.
    pub fn holds_lease(&self) -> bool {
        self.file_store.lease.is_held()
    }

    /// Releases the writer lease, like the exit of a process.
    pub fn release_lease(&self) {
        self.file_store.lease.release();
    }

    /// Checks files in turn, as if folders could not be watched.
    pub fn disable_watch(&self) {
        self.file_store.files.watch.has_unwatched.store(true, Relaxed);
    }
}

/// Folder whose maintenance runs a job of the test.
struct Busy(Mutex<Box<dyn FnMut() + Send>>);

impl Maintain for Busy {
    fn maintain(self: Arc<Self>) -> Duration {
        (self.0.lock())();
        Duration::from_millis(200)
    }
}

impl DiskPool {
    /// Runs `job` in the keeper each time before it maintains later folders, until the result is dropped.
    pub fn keep_busy(&self, job: impl FnMut() + Send + 'static) -> Arc<dyn Send + Sync> {
        let busy = Arc::new(Busy(Mutex::new(Box::new(job))));
        let tended: Arc<dyn Maintain> = Arc::clone(&busy) as Arc<_>;
        self.register(Arc::downgrade(&tended));
        busy
    }
}
