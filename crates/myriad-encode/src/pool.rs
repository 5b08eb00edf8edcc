//! Threads for background compression: low priority, a bounded queue, a CPU budget.

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
    /// Number of threads; at least one.
    pub threads: usize,
    /// Maximum number of queued jobs; further jobs are dropped.
    pub queue: usize,
    /// CPU budget of all threads together over time, in cores: 0.2 is a fifth of one core.
    pub budget: f64,
    /// CPU time that an idle pool may use before the budget limits it.
    pub burst: Duration,
    /// Niceness of the threads, from 0 (same as the workers) to 19 (only CPU time unused by the workers).
    pub nice: i32,
}

impl Default for PoolOptions {
    /// Returns the defaults: one thread at the lowest priority, a fifth of a core, 1024 jobs.
    fn default() -> PoolOptions {
        PoolOptions { threads: 1, queue: 1024, budget: 0.2, burst: Duration::from_millis(250), nice: 19 }
    }
}

/// Result of submitting a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitResult {
    /// The job is queued.
    Queued,
    /// A job with the same key is queued or running; this job is dropped.
    Duplicate,
    /// The queue is full; the job is dropped.
    Full,
    /// The pool is paused; the job is dropped.
    Resting,
    /// The pool is stopped; the job is dropped.
    Stopped,
}

/// Background threads that run jobs by key; submitting never blocks.
pub struct CompressionPool {
    shared: Arc<PoolShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl CompressionPool {
    /// Starts the threads. Fails only if the system cannot create a thread.
    pub fn start(options: &PoolOptions) -> io::Result<CompressionPool> {
        let shared = Arc::new(PoolShared {
            state: Mutex::new(PoolState {
                waiting: VecDeque::new(),
                running: Vec::new(),
                budget: CpuBudget::new(options.budget, options.burst, Instant::now()),
                counters: PoolCounters::default(),
                stopping: false,
                resting: false,
                take_ins: 0,
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

    /// Queues `job` unless a job with the same `key` (for example, a hash of object and coding) is queued or running,
    /// or the queue is full.
    pub fn submit(&self, key: u64, job: impl FnOnce() + Send + 'static) -> SubmitResult {
        let mut state = self.shared.state.lock();
        if state.stopping {
            return SubmitResult::Stopped;
        }
        if state.resting {
            state.counters.dropped += 1;
            return SubmitResult::Resting;
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

    /// Returns the counters of the pool.
    pub fn counters(&self) -> PoolCounters {
        let state = self.shared.state.lock();
        PoolCounters { waiting: state.waiting.len(), running: state.running.len(), ..state.counters }
    }

    /// Requests each thread to reclaim its memory freed by other threads ([`myriad_base::memory::collect_freed_blocks`]).
    pub fn collect_freed_blocks(&self) {
        self.shared.state.lock().take_ins += 1;
        self.shared.wake.notify_all();
    }

    /// Pauses or resumes the pool because of a memory shortage: while it is paused, queued and new jobs are dropped.
    /// Running jobs continue.
    pub fn set_paused(&self, rests: bool) {
        let dropped = {
            let mut state = self.shared.state.lock();
            state.resting = rests;
            if rests { std::mem::take(&mut state.waiting) } else { VecDeque::new() }
        };
        // Jobs own pages: they are dropped after the lock is released.
        drop(dropped);
    }

    /// Drops the queued jobs and returns when the running jobs have finished. A job must not call this.
    pub fn stop(&self) {
        let dropped = {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            std::mem::take(&mut state.waiting)
        };
        self.shared.wake.notify_all();
        // Jobs may own anything: they are dropped after the lock is released.
        drop(dropped);
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A worker catches panics of its jobs, so joining fails only if the worker itself has a bug.
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
