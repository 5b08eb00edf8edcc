//! State shared by the threads of a pool: jobs, the budget, counters.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::budget::CpuBudget;

/// Counters of a pool since its start, and its current jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Number of queued jobs.
    pub waiting: usize,
    /// Number of running jobs.
    pub running: usize,
    /// Number of completed jobs.
    pub done: u64,
    /// Number of panicked jobs; the thread continues.
    pub panicked: u64,
    /// Number of jobs dropped because their key was queued or running.
    pub duplicates: u64,
    /// Number of jobs dropped because the queue was full or the pool was paused.
    pub dropped: u64,
    /// CPU time used by jobs.
    pub cpu: Duration,
}

/// Job: it owns its input and delivers its result itself.
pub(super) type CompressionJob = Box<dyn FnOnce() + Send>;

/// State shared by the threads.
pub(super) struct PoolShared {
    pub(super) state: Mutex<PoolState>,
    pub(super) wake: Condvar,
    pub(super) capacity: usize,
}

/// Queued and running jobs.
pub(super) struct PoolState {
    pub(super) waiting: VecDeque<(u64, CompressionJob)>,
    /// Keys of the running jobs; at most one per thread, so a list suffices.
    pub(super) running: Vec<u64>,
    pub(super) budget: CpuBudget,
    pub(super) counters: PoolCounters,
    pub(super) stopping: bool,
    /// Set while no job is accepted because of a memory shortage.
    pub(super) resting: bool,
    /// Number of requests to the threads to reclaim memory freed by other threads.
    pub(super) take_ins: u64,
}
