//! Counts of the decisions made by `limit_req_zone` and `limit_conn_zone`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Decision of a zone about a request or, in `stream`, a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitDecision {
    /// The request or session was admitted without delay.
    Passed,
    /// The request was admitted after a delay.
    Delayed,
    /// The request or session was rejected.
    Rejected,
    /// The request was admitted, but would have been delayed without `limit_req_dry_run`.
    DelayedDryRun,
    /// The request or session was admitted, but would have been rejected without `limit_req_dry_run` or
    /// `limit_conn_dry_run`.
    RejectedDryRun,
}

/// Number of a zone's decisions by kind. Shared by all workers; survives reloads.
#[derive(Debug, Default)]
pub struct LimitCounts([AtomicU64; 5]);

impl LimitCounts {
    /// Adds 1 to the number of decisions of the kind `what`.
    pub fn add(&self, what: LimitDecision) {
        self.0[what as usize].fetch_add(1, Relaxed);
    }

    /// Returns the number of decisions of the kind `what`.
    pub fn of(&self, what: LimitDecision) -> u64 {
        self.0[what as usize].load(Relaxed)
    }

    /// Resets all counts to 0.
    pub fn reset(&self) {
        self.0.iter().for_each(|count| count.store(0, Relaxed));
    }
}

/// Counts of all zones of a configuration, each with its name.
#[derive(Clone, Debug, Default)]
pub struct LimitZoneCounts {
    /// Name and counts of each `limit_req_zone` of `http`.
    pub requests: Vec<(Box<str>, Arc<LimitCounts>)>,
    /// Name and counts of each `limit_conn_zone` of `http`.
    pub connections: Vec<(Box<str>, Arc<LimitCounts>)>,
    /// Name and counts of each `limit_conn_zone` of `stream`.
    pub sessions: Vec<(Box<str>, Arc<LimitCounts>)>,
}
