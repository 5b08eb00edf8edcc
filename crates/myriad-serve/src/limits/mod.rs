//! Tables of visitors: how fast each has asked (`limit_req`), how much each has under way (`limit_conn`).
//!
//! Shared by all workers and kept over reloads by name. Each is bounded by the size of its zone, counted as nginx's
//! manual does, so that a flood of visitors displaces the oldest and never fills the memory.

mod bucket;
mod connections;
mod lru;
mod requests;

pub(crate) use connections::{ConnectionTable, Held};
pub(crate) use requests::{Asked, Limit, RequestTable};

/// What `$limit_req_status` and `$limit_conn_status` say of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitStatus {
    /// Within the limit.
    Passed,
    /// Held back for a while.
    Delayed,
    /// Refused.
    Rejected,
    /// It would have been held back, were it not a dry run.
    DelayedDryRun,
    /// It would have been refused.
    RejectedDryRun,
}

impl LimitStatus {
    /// The variable's text.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Delayed => "DELAYED",
            Self::Rejected => "REJECTED",
            Self::DelayedDryRun => "DELAYED_DRY_RUN",
            Self::RejectedDryRun => "REJECTED_DRY_RUN",
        }
    }
}
