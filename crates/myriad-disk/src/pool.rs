//! Disk threads: work that may block on a disk does not run on a worker's thread.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Maximum number of queued look-ups. A further look-up is a miss.
const READS: usize = 4096;
/// Maximum number of queued writes. A further write is deferred.
const WRITES: usize = 4096;
/// Maximum number of bytes of pages that wait to be written.
const WRITE_BYTES: usize = 64 << 20;
/// Maximum pause of the keeper, within which a file removed from outside is noticed.
const KEEPER_PAUSE: Duration = Duration::from_millis(200);

pub(crate) type DiskJob = Box<dyn FnOnce() + Send>;

/// Folder that the keeper maintains periodically.
pub(crate) trait Maintain: Send + Sync {
    /// Does a bounded part of the pending work, and returns the pause before the next call.
    fn maintain(self: Arc<Self>) -> Duration;
}

/// Threads and queues of all disk tiers of a process. Cloning returns another handle.
#[derive(Clone)]
pub struct DiskPool {
    shared: Arc<Shared>,
    /// The threads reference the queues, but not this field: they stop with the last handle, when no more work can be
    /// queued.
    _ending: Arc<PoolShutdownGuard>,
}

struct PoolShutdownGuard(Arc<Shared>);

impl Drop for PoolShutdownGuard {
    fn drop(&mut self) {
        self.0.queues.lock().stopped = true;
        self.0.work.notify_all();
        self.0.maintenance_wake.notify_all();
    }
}

struct Shared {
    queues: Mutex<Queues>,
    work: Condvar,
    /// Wakes only the keeper, so that it never consumes the wake-up of a thread with work.
    maintenance_wake: Condvar,
    idle: Condvar,
    maintained: Mutex<Vec<Weak<dyn Maintain>>>,
    /// Set if the pool has threads; otherwise a test runs the jobs.
    threaded: bool,
}

#[derive(Default)]
struct Queues {
    /// Few short jobs whose callers wait for them.
    urgent: VecDeque<DiskJob>,
    reads: VecDeque<DiskJob>,
    writes: VecDeque<(usize, DiskJob)>,
    write_bytes: usize,
    /// Reduction of [`WRITE_BYTES`] under memory pressure.
    write_bytes_reduction: usize,
    /// Number of requests to the threads to collect memory freed by other threads.
    memory_collections: u64,
    running: usize,
    /// Set if the keeper must run now.
    wake_requested: bool,
    stopped: bool,
}

/// Error for a full queue.
#[derive(Debug)]
pub(crate) struct DiskQueueFull;

impl DiskPool {
    /// Starts `threads` threads for reading and writing (the first prefers to write, the others to read), and the
    /// keeper thread for the folders.
    pub fn start(threads: usize) -> io::Result<Self> {
        let pool = Self::new(true);
        let spawn = |name: String, work: Box<dyn FnOnce(&Shared) + Send>| -> io::Result<JoinHandle<()>> {
            let shared = Arc::clone(&pool.shared);
            std::thread::Builder::new().name(name).stack_size(256 << 10).spawn(move || work(&shared))
        };
        for index in 0..threads.max(1) {
            spawn(format!("disk-{index}"), Box::new(move |shared| shared.serve(index == 0)))?;
        }
        spawn("disk-keeper".to_owned(), Box::new(Shared::run_maintenance))?;
        Ok(pool)
    }

    /// Creates a pool without threads, for tests that order its work themselves by [`Self::run_one`] and
    /// [`Self::maintain`].
    pub fn without_threads() -> Self {
        Self::new(false)
    }

    fn new(threaded: bool) -> Self {
        let shared = Shared {
            queues: Mutex::default(),
            work: Condvar::new(),
            maintenance_wake: Condvar::new(),
            idle: Condvar::new(),
            maintained: Mutex::default(),
            threaded,
        };
        let shared = Arc::new(shared);
        Self { _ending: Arc::new(PoolShutdownGuard(Arc::clone(&shared))), shared }
    }

    /// Runs the next job of a queue. Returns false if all queues are empty.
    pub fn run_one(&self, writes_first: bool) -> bool {
        let Some(job) = self.shared.queues.lock().next(writes_first) else { return false };
        job();
        self.shared.finish_job();
        true
    }

    /// Drops queued jobs, like the exit of a process: the jobs reference the zone that references this pool.
    #[cfg(any(test, feature = "testing"))]
    pub fn stop(&self) {
        let queues = std::mem::take(&mut *self.shared.queues.lock());
        drop(queues);
    }

    /// Runs the maintenance of every folder once.
    pub fn maintain(&self) {
        self.shared.maintain();
    }

    /// Returns the number of bytes of pages that wait to be written. A page that has left its zone meanwhile is only in
    /// this queue.
    pub fn write_bytes(&self) -> usize {
        self.shared.queues.lock().write_bytes
    }

    /// Limits these bytes, to at most 64 MB. Writes beyond the limit are deferred: a page is written later if it is
    /// still in memory then.
    pub fn limit_write_bytes(&self, bytes: usize) {
        self.shared.queues.lock().write_bytes_reduction = WRITE_BYTES.saturating_sub(bytes);
    }

    /// Makes the threads collect the memory freed by other threads ([`myriad_base::memory::take_in`]).
    pub fn collect_freed_memory(&self) {
        self.shared.queues.lock().memory_collections += 1;
        self.shared.work.notify_all();
    }

    /// Waits up to `patience` until no job is queued or running. Returns whether this was reached.
    pub fn wait_until_idle(&self, patience: Duration) -> bool {
        if !self.shared.threaded {
            while self.run_one(true) {}
            return true;
        }
        let mut queues = self.shared.queues.lock();
        let end = std::time::Instant::now() + patience;
        while !queues.is_idle() {
            if self.shared.idle.wait_until(&mut queues, end).timed_out() {
                return queues.is_idle();
            }
        }
        true
    }

    /// Registers a folder with the keeper, for the lifetime of the folder.
    pub(crate) fn register(&self, tended: Weak<dyn Maintain>) {
        self.shared.maintained.lock().push(tended);
        self.wake_maintenance();
    }

    /// Wakes the keeper.
    pub(crate) fn wake_maintenance(&self) {
        self.shared.queues.lock().wake_requested = true;
        self.shared.maintenance_wake.notify_all();
    }

    /// Returns whether a thread maintains the folders.
    pub(crate) fn has_maintenance_thread(&self) -> bool {
        self.shared.threaded
    }

    /// Queues a look-up.
    pub(crate) fn read(&self, job: DiskJob) -> Result<(), DiskQueueFull> {
        let mut queues = self.shared.queues.lock();
        if queues.reads.len() >= READS {
            return Err(DiskQueueFull);
        }
        queues.reads.push_back(job);
        drop(queues);
        self.shared.work.notify_one();
        Ok(())
    }

    /// Queues a job with priority over all others. The caller limits the number of such jobs.
    pub(crate) fn urgent(&self, job: DiskJob) {
        self.shared.queues.lock().urgent.push_back(job);
        self.shared.work.notify_one();
    }

    /// Returns how many more small writes may be queued: up to half of the maximum, so that new pages need not wait for
    /// late pages.
    pub(crate) fn free_write_slots(&self) -> usize {
        let queues = self.shared.queues.lock();
        if queues.write_bytes > queues.max_write_bytes() / 2 {
            0
        } else {
            (WRITES / 2).saturating_sub(queues.writes.len())
        }
    }

    /// Queues a write that occupies `bytes` of memory until it is done.
    pub(crate) fn write(&self, bytes: usize, job: DiskJob) -> Result<(), DiskQueueFull> {
        let mut queues = self.shared.queues.lock();
        // A single page may always be queued, regardless of its length.
        let most = if queues.write_bytes == 0 { WRITE_BYTES } else { queues.max_write_bytes() };
        if queues.writes.len() >= WRITES || queues.write_bytes + bytes > most {
            return Err(DiskQueueFull);
        }
        queues.write_bytes += bytes;
        queues.writes.push_back((bytes, job));
        drop(queues);
        self.shared.work.notify_one();
        Ok(())
    }
}

impl Queues {
    fn max_write_bytes(&self) -> usize {
        WRITE_BYTES - self.write_bytes_reduction
    }

    fn next(&mut self, writes_first: bool) -> Option<DiskJob> {
        if let Some(job) = self.urgent.pop_front() {
            self.running += 1;
            return Some(job);
        }
        if !writes_first && let Some(job) = self.reads.pop_front() {
            self.running += 1;
            return Some(job);
        }
        if let Some((bytes, job)) = self.writes.pop_front() {
            self.write_bytes -= bytes;
            self.running += 1;
            return Some(job);
        }
        let job = self.reads.pop_front()?;
        self.running += 1;
        Some(job)
    }

    fn is_idle(&self) -> bool {
        self.running == 0 && self.urgent.is_empty() && self.reads.is_empty() && self.writes.is_empty()
    }
}

impl Shared {
    fn serve(&self, writes_first: bool) {
        let mut take_ins = 0;
        loop {
            let job = {
                let mut queues = self.queues.lock();
                loop {
                    if queues.memory_collections != take_ins {
                        take_ins = queues.memory_collections;
                        MutexGuard::unlocked(&mut queues, myriad_base::memory::collect_freed_blocks);
                        continue;
                    }
                    if let Some(job) = queues.next(writes_first) {
                        break job;
                    }
                    if queues.stopped {
                        return;
                    }
                    self.work.wait(&mut queues);
                }
            };
            job();
            self.finish_job();
        }
    }

    fn finish_job(&self) {
        let mut queues = self.queues.lock();
        queues.running -= 1;
        if queues.is_idle() {
            self.idle.notify_all();
        }
    }

    fn maintain(&self) -> Duration {
        let folders: Vec<Arc<dyn Maintain>> = {
            let mut folders = self.maintained.lock();
            folders.retain(|tended| tended.strong_count() > 0);
            folders.iter().filter_map(Weak::upgrade).collect()
        };
        folders.into_iter().map(Maintain::maintain).min().unwrap_or(KEEPER_PAUSE)
    }

    fn run_maintenance(&self) {
        loop {
            let pause = self.maintain().min(KEEPER_PAUSE);
            let end = std::time::Instant::now() + pause;
            let mut queues = self.queues.lock();
            while !queues.wake_requested && !queues.stopped {
                if self.maintenance_wake.wait_until(&mut queues, end).timed_out() {
                    break;
                }
            }
            if queues.stopped {
                return;
            }
            queues.wake_requested = false;
        }
    }
}

impl fmt::Debug for DiskPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskPool").finish_non_exhaustive()
    }
}
