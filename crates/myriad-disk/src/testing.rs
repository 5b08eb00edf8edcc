//! What tests may do to a disk tier and ask it, beyond what the zone may: it is not part of a build that is shipped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use myriad_index::{Book, Name, Softened};
use parking_lot::Mutex;

pub use crate::faults::Operation;

use crate::pool::Tend;
use crate::purge_log::PurgeLog;
use crate::{Disk, DiskPool, PageId, sequence};

/// Files that may be doomed without a look whether they are there.
pub const UNASKED: usize = crate::disk::UNASKED;
/// Numbers of one start.
pub const EPOCH: u64 = sequence::EPOCH;

/// A folder that goes with its test.
pub struct TempFolder(PathBuf);

impl TempFolder {
    /// Makes one, in memory where that is possible: thousands of starts sync what they write.
    pub fn new() -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Relaxed);
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = folder.join(format!("myriad-store-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// All files in it and below that are not hidden, in order.
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

    /// Bytes that the files take, in blocks of 4 KB.
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

/// The purges that a folder's log says.
pub fn logged_purges(folder: &Path) -> Book {
    PurgeLog::open(folder).unwrap().0.book
}

/// The first number of the newest start that used a folder.
pub fn newest_start(folder: &Path) -> Option<u64> {
    sequence::read(&sequence::path(folder))
}

/// Has a folder say that a start has used it.
pub fn write_start(folder: &Path, number: u64) {
    sequence::write(folder, number).unwrap();
}

impl Disk {
    /// From now on operations fail as `inject` says.
    pub fn inject(&self, inject: impl FnMut(Operation, &Path) -> Option<io::Error> + Send + 'static) {
        self.shelf.files.faults.inject(inject);
    }

    /// From now on the file system has so many bytes free.
    pub fn leave_free(&self, free: impl Fn() -> u64 + Send + 'static) {
        self.shelf.files.faults.leave_free(free);
    }

    /// Has writing not tried for a while, as after a failure.
    pub fn put_writing_off(&self) {
        self.shelf.health.put_writing_off();
    }

    /// Has writing tried again, and tells that it works.
    pub fn end_trouble(&self) {
        self.shelf.health.trouble_is_over();
    }

    /// Pages that soft purges have covered in memory, which the tier has not heard of yet.
    pub fn take_softened(&self) -> Vec<Softened> {
        self.shelf.memory.upgrade().map_or_else(Vec::new, |memory| memory.take_softened())
    }

    /// Files that count as gone and have yet to be removed.
    pub fn doomed(&self) -> usize {
        self.shelf.catalogue.lock().doomed()
    }

    /// Has a file count as gone, whether it is there or not.
    pub fn doom(&self, name: Name, hash: u128) {
        self.shelf.catalogue.lock().doom_unknown(name, hash);
    }

    /// As how many files the catalogue counts its files with their labels.
    pub fn counted(&self) -> usize {
        self.shelf.catalogue.lock().counted()
    }

    /// Has a write that is under way come to nothing, as where memory has lost the page.
    pub fn cancel_write(&self, hash: u128) {
        self.shelf.catalogue.lock().writes.cancel(hash, None);
    }

    /// Ends a write as one that failed.
    pub fn abandon_write(&self, page: &PageId<'_>, number: u64) {
        self.abandon(page, number);
    }

    /// Does what the keeper does from time to time; when it wants to come again.
    pub fn tend(&self) -> Duration {
        Arc::clone(&self.keeper).tend()
    }

    /// The first number of this start.
    pub fn epoch(&self) -> Option<u64> {
        self.keeper.epoch()
    }

    /// Does something as if a part of the recovery were under way.
    pub fn during_recovery(&self, job: impl FnOnce()) {
        self.keeper.recovery.during(job);
    }

    /// Whether nobody writes purges down at this moment.
    pub fn is_log_free(&self) -> bool {
        self.purges.is_log_free()
    }

    /// How often all that was written before was made durable, so that purges could be forgotten.
    pub fn syncs(&self) -> u64 {
        self.purges.syncs.load(Relaxed)
    }

    /// Whether a purge has waited for the first stretch of the recovery.
    pub fn was_waited_for(&self) -> bool {
        self.purges.first_stretch.was_waited_for()
    }

    /// Whether this tier has the writer lease.
    pub fn holds_lease(&self) -> bool {
        self.shelf.lease.is_held()
    }

    /// Leaves the writer lease, as the end of a process does.
    pub fn leave_lease(&self) {
        self.shelf.lease.leave();
    }

    /// Has files looked at in turn, as where folders cannot be watched.
    pub fn go_blind(&self) {
        self.shelf.files.watch.blind.store(true, Relaxed);
    }
}

/// Looks after another folder for as long as a job of the test takes.
struct Busy(Mutex<Box<dyn FnMut() + Send>>);

impl Tend for Busy {
    fn tend(self: Arc<Self>) -> Duration {
        (self.0.lock())();
        Duration::from_millis(200)
    }
}

impl DiskPool {
    /// Keeps the keeper busy with `job` each time before it comes to the folders after this one, while the result lives.
    pub fn keep_busy(&self, job: impl FnMut() + Send + 'static) -> Arc<dyn Send + Sync> {
        let busy = Arc::new(Busy(Mutex::new(Box::new(job))));
        let tended: Arc<dyn Tend> = Arc::clone(&busy) as Arc<_>;
        self.keep(Arc::downgrade(&tended));
        busy
    }
}
