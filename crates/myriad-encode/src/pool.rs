//! Thread pool for background compression, with low priority, a bounded queue and a CPU budget.

mod budget;
mod queue;
mod worker;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use budget::CpuBudget;
pub use queue::PoolCounters;
use queue::{PoolShared, PoolState};

/// Resource limits of a [`CompressionPool`].
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Number of threads; 0 counts as 1.
    pub threads: usize,
    /// Maximum number of queued jobs; further jobs are dropped.
    pub queue: usize,
    /// Long-term limit on the CPU time of all threads together, in cores: 0.2 is a fifth of one core. Lower values than
    /// 0.001 count as 0.001.
    pub budget: f64,
    /// Maximum unused CPU time that the pool accumulates while its threads are idle, and may then use in addition to
    /// `budget`.
    pub burst: Duration,
    /// Niceness of the threads on Linux, from 0 (normal priority) to 19 (lowest priority); other values are limited to
    /// this range.
    pub nice: i32,
}

impl Default for PoolOptions {
    /// Returns the defaults: one thread with the lowest priority, 1024 queued jobs, a fifth of a core.
    fn default() -> PoolOptions {
        PoolOptions { threads: 1, queue: 1024, budget: 0.2, burst: Duration::from_millis(250), nice: 19 }
    }
}

/// Result of [`CompressionPool::submit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitResult {
    /// The job is queued.
    Queued,
    /// A job with the same key is queued or running; the new job was dropped.
    Duplicate,
    /// The queue is full; the job was dropped.
    Full,
    /// The pool is paused; the job was dropped.
    Paused,
    /// The pool is stopped; the job was dropped.
    Stopped,
}

/// Pool of background threads that run jobs, at most one at a time per key. Submitting never blocks. Dropping the pool
/// stops it.
pub struct CompressionPool {
    shared: Arc<PoolShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl CompressionPool {
    /// Starts the threads. Fails if the system cannot create one.
    pub fn start(options: &PoolOptions) -> io::Result<CompressionPool> {
        let shared = Arc::new(PoolShared {
            state: Mutex::new(PoolState {
                waiting: VecDeque::new(),
                running: Vec::new(),
                budget: CpuBudget::new(options.budget, options.burst, Instant::now()),
                counters: PoolCounters::default(),
                stopping: false,
                paused: false,
                collections: 0,
            }),
            wake: Condvar::new(),
            capacity: options.queue,
        });
        let pool = CompressionPool { shared, threads: Mutex::new(Vec::new()) };
        for _ in 0..options.threads.max(1) {
            let (shared, nice) = (Arc::clone(&pool.shared), options.nice);
            let thread = std::thread::Builder::new()
                .name("encode".to_owned())
                .spawn(move || worker::run(&shared, nice))?;
            pool.threads.lock().push(thread);
        }
        Ok(pool)
    }

    /// Queues `job` unless a job with the same `key` is queued or running, the queue is full, or the pool is paused or
    /// stopped. The key can be, for example, a hash of page and coding.
    pub fn submit(&self, key: u64, job: impl FnOnce() + Send + 'static) -> SubmitResult {
        let mut state = self.shared.state.lock();
        if state.stopping {
            return SubmitResult::Stopped;
        }
        if state.paused {
            state.counters.dropped += 1;
            return SubmitResult::Paused;
        }
        if state.running.contains(&key) || state.waiting.iter().any(|(waiting, _)| *waiting == key) {
            state.counters.duplicates += 1;
            return SubmitResult::Duplicate;
        }
        if state.waiting.len() >= self.shared.capacity {
            state.counters.dropped += 1;
            return SubmitResult::Full;
        }
        state.waiting.push_back((key, Box::new(job)));
        drop(state);
        self.shared.wake.notify_one();
        SubmitResult::Queued
    }

    /// Returns the counters since the start, and the current numbers of queued and running jobs.
    pub fn counters(&self) -> PoolCounters {
        let state = self.shared.state.lock();
        PoolCounters { waiting: state.waiting.len(), running: state.running.len(), ..state.counters }
    }

    /// Requests each thread to collect its memory blocks that other threads have freed (see
    /// [`myriad_base::memory::collect_freed_blocks`]).
    pub fn collect_freed_blocks(&self) {
        self.shared.state.lock().collections += 1;
        self.shared.wake.notify_all();
    }

    /// Pauses (`true`) or resumes the pool, for a shortage of memory. A paused pool drops queued and new jobs; running
    /// jobs continue.
    pub fn set_paused(&self, paused: bool) {
        let dropped = {
            let mut state = self.shared.state.lock();
            state.paused = paused;
            if paused { std::mem::take(&mut state.waiting) } else { VecDeque::new() }
        };
        // Dropped without the lock, because jobs own whole pages.
        drop(dropped);
    }

    /// Drops the queued jobs and waits for the running jobs. Must not be called by a job.
    pub fn stop(&self) {
        let dropped = {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            std::mem::take(&mut state.waiting)
        };
        self.shared.wake.notify_all();
        // Dropped without the lock, because jobs may own anything.
        drop(dropped);
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // The thread catches panics of jobs, so an error means a bug in the thread itself.
            let _ = thread.join();
        }
    }
}

impl Drop for CompressionPool {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
