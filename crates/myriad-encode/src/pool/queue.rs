//! What the threads of a pool share: jobs, the budget, counters.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::budget::Budget;

/// What a pool has done since it started, and what it has before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounters {
    /// Jobs that wait.
    pub waiting: usize,
    /// Jobs that run at this moment.
    pub running: usize,
    /// Jobs that ran to their end.
    pub done: u64,
    /// Jobs that panicked; the thread goes on.
    pub panicked: u64,
    /// Jobs dropped because their key was there already.
    pub duplicates: u64,
    /// Jobs dropped because the queue was full, or the pool rested.
    pub dropped: u64,
    /// CPU time that jobs have used.
    pub cpu: Duration,
}

/// A job: it carries what it needs and hands its result over itself.
pub(super) type Job = Box<dyn FnOnce() + Send>;

/// What the threads share.
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) wake: Condvar,
    pub(super) capacity: usize,
}

/// The jobs that wait and run.
pub(super) struct State {
    pub(super) waiting: VecDeque<(u64, Job)>,
    /// Keys of the jobs that run; as many as there are threads, so a list is enough.
    pub(super) running: Vec<u64>,
    pub(super) budget: Budget,
    pub(super) counters: PoolCounters,
    pub(super) stopping: bool,
    /// No job is taken, for want of memory.
    pub(super) resting: bool,
    /// How often threads were told to take in memory that others have freed.
    pub(super) take_ins: u64,
}
