//! What a zone of `limit_req_zone` or `limit_conn_zone` has decided.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What became of the requests, or sessions, that a zone was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limited {
    /// Let in.
    Passed,
    /// Held back for a while.
    Delayed,
    /// Refused.
    Rejected,
    /// Let in, though it would be held back (`limit_req_dry_run`).
    DelayedDryRun,
    /// Let in, though it would be refused (`limit_req_dry_run`, `limit_conn_dry_run`).
    RejectedDryRun,
}

/// Counts of a zone, shared by all workers as the zone's table is, and kept over reloads with it.
#[derive(Debug, Default)]
pub struct LimitCounts([AtomicU64; 5]);

impl LimitCounts {
    /// Counts one.
    pub fn add(&self, what: Limited) {
        self.0[what as usize].fetch_add(1, Relaxed);
    }

    /// How many there were.
    pub fn of(&self, what: Limited) -> u64 {
        self.0[what as usize].load(Relaxed)
    }

    /// Begins anew.
    pub fn reset(&self) {
        self.0.iter().for_each(|count| count.store(0, Relaxed));
    }
}

/// The counts of all zones of a configuration, by name.
#[derive(Clone, Debug, Default)]
pub struct LimitZoneCounts {
    /// `limit_req_zone` of `http`.
    pub requests: Vec<(Box<str>, Arc<LimitCounts>)>,
    /// `limit_conn_zone` of `http`.
    pub connections: Vec<(Box<str>, Arc<LimitCounts>)>,
    /// `limit_conn_zone` of `stream`.
    pub sessions: Vec<(Box<str>, Arc<LimitCounts>)>,
}
