//! Threads for compression that nobody waits for: low priority, a bounded queue, a budget of CPU.

mod budget;
mod queue;
mod worker;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use budget::Budget;
pub use queue::PoolCounters;
use queue::{Shared, State};

/// How a [`Pool`] may use the machine.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Threads; at least one.
    pub threads: usize,
    /// Jobs that may wait; one more is dropped.
    pub queue: usize,
    /// CPU that all threads together may use over time, in cores: 0.2 is a fifth of one core.
    pub budget: f64,
    /// CPU that a pool which has idled may use at once before the budget holds it back.
    pub burst: Duration,
    /// Niceness of the threads, 0 (like the workers) to 19 (only what the workers leave).
    pub nice: i32,
}

impl Default for PoolOptions {
    /// One thread at the lowest priority, a fifth of a core, a thousand jobs.
    fn default() -> PoolOptions {
        PoolOptions { threads: 1, queue: 1024, budget: 0.2, burst: Duration::from_millis(250), nice: 19 }
    }
}

/// What became of a submitted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// It will run.
    Queued,
    /// A job with the same key waits or runs already; this one is dropped.
    Duplicate,
    /// The queue is full; the job is dropped.
    Full,
    /// The pool rests; the job is dropped.
    Resting,
    /// The pool is stopped; the job is dropped.
    Stopped,
}

/// Background threads that take jobs by key; never makes the caller wait.
pub struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    /// Starts the threads; fails only where the system refuses one.
    pub fn start(options: &PoolOptions) -> io::Result<Pool> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                running: Vec::new(),
                budget: Budget::new(options.budget, options.burst, Instant::now()),
                counters: PoolCounters::default(),
                stopping: false,
                resting: false,
                take_ins: 0,
            }),
            wake: Condvar::new(),
            capacity: options.queue,
        });
        let pool = Pool { shared, threads: Mutex::new(Vec::new()) };
        for _ in 0..options.threads.max(1) {
            let (shared, nice) = (Arc::clone(&pool.shared), options.nice);
            let thread = std::thread::Builder::new()
                .name("encode".to_owned())
                .spawn(move || worker::run(&shared, nice))?;
            pool.threads.lock().push(thread);
        }
        Ok(pool)
    }

    /// Queues `job` unless a job with the same `key` (say, a hash of object and coding) waits or runs, or the queue is full.
    pub fn submit(&self, key: u64, job: impl FnOnce() + Send + 'static) -> Submitted {
        let mut state = self.shared.state.lock();
        if state.stopping {
            return Submitted::Stopped;
        }
        if state.resting {
            state.counters.dropped += 1;
            return Submitted::Resting;
        }
        if state.running.contains(&key) || state.waiting.iter().any(|(waiting, _)| *waiting == key) {
            state.counters.duplicates += 1;
            return Submitted::Duplicate;
        }
        if state.waiting.len() >= self.shared.capacity {
            state.counters.dropped += 1;
            return Submitted::Full;
        }
        state.waiting.push_back((key, Box::new(job)));
        drop(state);
        self.shared.wake.notify_one();
        Submitted::Queued
    }

    /// What the pool has done so far.
    pub fn counters(&self) -> PoolCounters {
        let state = self.shared.state.lock();
        PoolCounters { waiting: state.waiting.len(), running: state.running.len(), ..state.counters }
    }

    /// Has the threads take in what others have freed of their memory ([`myriad_memory::take_in`]).
    pub fn take_in(&self) {
        self.shared.state.lock().take_ins += 1;
        self.shared.wake.notify_all();
    }

    /// Whether the pool rests from now on, for want of memory: jobs that wait are dropped, and so are those that come. One that runs
    /// goes on to its end.
    pub fn rest(&self, rests: bool) {
        let dropped = {
            let mut state = self.shared.state.lock();
            state.resting = rests;
            if rests { std::mem::take(&mut state.waiting) } else { VecDeque::new() }
        };
        // Jobs hold pages: let go of them outside the lock.
        drop(dropped);
    }

    /// Drops the jobs that wait and returns when those that run have ended; a job must not call this.
    pub fn stop(&self) {
        let dropped = {
            let mut state = self.shared.state.lock();
            state.stopping = true;
            std::mem::take(&mut state.waiting)
        };
        self.shared.wake.notify_all();
        // Jobs may own anything: let go of them outside the lock.
        drop(dropped);
        let threads = std::mem::take(&mut *self.threads.lock());
        for thread in threads {
            // A worker catches its jobs' panics, so that joining fails only where the worker itself is defective.
            let _ = thread.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
