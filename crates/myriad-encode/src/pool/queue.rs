//! State shared by the threads of a compression pool: jobs, budget and counters.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::budget::CpuBudget;

/// Counters of a compression pool since its start, and the numbers of its current jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Number of queued jobs.
    pub waiting: usize,
    /// Number of running jobs.
    pub running: usize,
    /// Number of jobs that were completed without a panic.
    pub done: u64,
    /// Number of jobs that panicked. Their thread continues.
    pub panicked: u64,
    /// Number of jobs dropped because a job with the same key was queued or running.
    pub duplicates: u64,
    /// Number of jobs dropped because the queue was full or the pool was paused. Jobs dropped from the queue by a pause
    /// are not counted.
    pub dropped: u64,
    /// Total CPU time that finished jobs used.
    pub cpu: Duration,
}

/// Job of a compression pool: a function that contains its input and delivers its result.
pub(super) type CompressionJob = Box<dyn FnOnce() + Send>;

/// State shared by the threads of a pool.
pub(super) struct PoolShared {
    pub(super) state: Mutex<PoolState>,
    pub(super) wake: Condvar,
    pub(super) capacity: usize,
}

/// Jobs, budget and counters of a pool.
pub(super) struct PoolState {
    pub(super) waiting: VecDeque<(u64, CompressionJob)>,
    /// Keys of the running jobs, at most one per thread.
    pub(super) running: Vec<u64>,
    pub(super) budget: CpuBudget,
    pub(super) counters: PoolCounters,
    pub(super) stopping: bool,
    /// True while the pool is paused: no job is accepted.
    pub(super) paused: bool,
    /// Number of requests to collect freed memory blocks; each thread compares it with the last number that it has
    /// seen.
    pub(super) collections: u64,
}
