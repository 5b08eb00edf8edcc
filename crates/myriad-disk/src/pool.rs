//! Disk threads, so that disk operations do not block the workers' threads.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Maximum number of queued reads of page files. A look-up of a page beyond it is a miss.
const READS: usize = 4096;
/// Maximum number of queued writes of page files. Pages beyond it are written later if possible.
const WRITES: usize = 4096;
/// Maximum number of bytes of pages that are queued to be written.
const WRITE_BYTES: usize = 64 << 20;
/// Maximum pause between maintenance rounds, within which a file removed by another program is noticed.
const KEEPER_PAUSE: Duration = Duration::from_millis(200);

pub(crate) type DiskJob = Box<dyn FnOnce() + Send>;

/// Folder that the maintenance thread visits periodically.
pub(crate) trait Maintain: Send + Sync {
    /// Does a bounded part of the pending work, and returns the pause before the next call.
    fn maintain(self: Arc<Self>) -> Duration;
}

/// Threads and queues for all disk tiers of a process. Clones are handles of the same pool.
#[derive(Clone)]
pub struct DiskPool {
    shared: Arc<Shared>,
    /// Guard that stops the pool's threads when the last handle is dropped. The threads themselves hold only `shared`.
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
    /// Wakes only the maintenance thread, so that it never consumes a wake-up meant for a thread with work.
    maintenance_wake: Condvar,
    idle: Condvar,
    maintained: Mutex<Vec<Weak<dyn Maintain>>>,
    /// False in a pool without threads, whose jobs a test runs.
    threaded: bool,
}

#[derive(Default)]
struct Queues {
    /// Jobs that run before all reads and writes.
    urgent: VecDeque<DiskJob>,
    reads: VecDeque<DiskJob>,
    writes: VecDeque<(usize, DiskJob)>,
    write_bytes: usize,
    /// Number of bytes by which [`WRITE_BYTES`] is reduced, under memory pressure.
    write_bytes_reduction: usize,
    /// Number of calls of [`DiskPool::collect_freed_memory`], by which threads notice new calls.
    memory_collections: u64,
    running: usize,
    /// Set if the maintenance thread must run now.
    wake_requested: bool,
    stopped: bool,
}

/// Error: the queue for reads or writes is full, and the job was dropped.
#[derive(Debug)]
pub(crate) struct DiskQueueFull;

impl DiskPool {
    /// Starts `threads` threads for reading and writing (at least one; the first prefers to write, the others to read),
    /// and the maintenance thread. Fails if a thread cannot be started.
    pub fn start(threads: usize) -> io::Result<Self> {
        let pool = Self::new(true);
        let spawn = |name: String, work: Box<dyn FnOnce(&Shared) + Send>| -> io::Result<JoinHandle<()>> {
            let shared = Arc::clone(&pool.shared);
            std::thread::Builder::new().name(name).stack_size(256 << 10).spawn(move || work(&shared))
        };
        for index in 0..threads.max(1) {
            spawn(format!("disk-{index}"), Box::new(move |shared| shared.serve(index == 0)))?;
        }
        spawn("disk-upkeep".to_owned(), Box::new(Shared::run_maintenance))?;
        Ok(pool)
    }

    /// Creates a pool without threads, for tests that run its work themselves with [`Self::run_one`] and
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

    /// Runs the next queued job on this thread. An urgent job is first; then follow writes and reads, writes first if
    /// `writes_first` is set. Returns false if all queues are empty.
    pub fn run_one(&self, writes_first: bool) -> bool {
        let Some(job) = self.shared.queues.lock().next(writes_first) else { return false };
        job();
        self.shared.finish_job();
        true
    }

    /// Drops all queued jobs, like the exit of a process. Needed because the jobs reference the zone, and the zone this
    /// pool.
    #[cfg(any(test, feature = "testing"))]
    pub fn stop(&self) {
        let queues = std::mem::take(&mut *self.shared.queues.lock());
        drop(queues);
    }

    /// Runs the maintenance of every folder once, on this thread.
    pub fn maintain(&self) {
        self.shared.maintain();
    }

    /// Returns the number of bytes of pages that are queued to be written. Pages removed from their zone meanwhile are
    /// included.
    pub fn write_bytes(&self) -> usize {
        self.shared.queues.lock().write_bytes
    }

    /// Limits the bytes of pages that are queued to be written to `bytes`, at most 64 MB. A page for which no other
    /// page is queued needs only to fit into 64 MB. Pages beyond the limit are written later, if they are still in
    /// memory then.
    pub fn limit_write_bytes(&self, bytes: usize) {
        self.shared.queues.lock().write_bytes_reduction = WRITE_BYTES.saturating_sub(bytes);
    }

    /// Makes each disk thread collect memory that other threads have freed
    /// ([`myriad_base::memory::collect_freed_blocks`]).
    pub fn collect_freed_memory(&self) {
        self.shared.queues.lock().memory_collections += 1;
        self.shared.work.notify_all();
    }

    /// Waits up to `patience` until no job is queued or running. Returns false if the time was not sufficient. In a
    /// pool without threads, runs all queued jobs instead and returns true.
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

    /// Registers a folder with the maintenance thread, until the folder is dropped.
    pub(crate) fn register(&self, tended: Weak<dyn Maintain>) {
        self.shared.maintained.lock().push(tended);
        self.wake_maintenance();
    }

    /// Makes the maintenance thread visit all folders now.
    pub(crate) fn wake_maintenance(&self) {
        self.shared.queues.lock().wake_requested = true;
        self.shared.maintenance_wake.notify_all();
    }

    /// Returns true if the pool has threads, so that waiting for maintenance makes sense.
    pub(crate) fn has_maintenance_thread(&self) -> bool {
        self.shared.threaded
    }

    /// Queues a job that reads a page file. Fails if the queue is full.
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

    /// Queues a job that runs before all others. The caller must limit the number of such jobs.
    pub(crate) fn urgent(&self, job: DiskJob) {
        self.shared.queues.lock().urgent.push_back(job);
        self.shared.work.notify_one();
    }

    /// Returns the number of writes of the backlog that may be queued now: at most half of the queue, so that new pages
    /// need not wait for them; 0 if more than half of the permitted bytes are queued.
    pub(crate) fn free_write_slots(&self) -> usize {
        let queues = self.shared.queues.lock();
        if queues.write_bytes > queues.max_write_bytes() / 2 {
            0
        } else {
            (WRITES / 2).saturating_sub(queues.writes.len())
        }
    }

    /// Queues a write that occupies `bytes` of memory. Fails if the number or the bytes of queued writes would exceed
    /// their maximum.
    pub(crate) fn write(&self, bytes: usize, job: DiskJob) -> Result<(), DiskQueueFull> {
        let mut queues = self.shared.queues.lock();
        // If no page is queued, the reduced limit does not apply, so that a page of any usual length can be written.
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
