//! What limits have found out of a request and its subrequests, which share it.

use std::any::Any;
use std::cell::{Cell, RefCell};

/// What the limits said of a request; none is made where no limit is asked.
#[derive(Default)]
pub struct Visit {
    /// `$limit_req_status`; a request is asked once, wherever it is redirected to.
    pub requests: Cell<Option<LimitStatus>>,
    /// `$limit_conn_status`; likewise.
    pub connections: Cell<Option<LimitStatus>>,
    /// What counts against limits while it is here: dropped when the request and its subrequests are over.
    pub held: RefCell<Option<Box<dyn Any>>>,
    /// As `requests`, of what is counted before an origin alone (`limit_req ... origin_only`).
    pub origin_requests: Cell<Option<LimitStatus>>,
    /// What was counted before an origin alone (`limit_conn ... origin_only`), until whoever asks the origin takes it.
    pub origin_held: RefCell<Option<Box<dyn Any>>>,
    /// The client's network sends more new queries than `origin_query_limit` admits: this request goes to the origin after all others.
    pub beyond_query_limit: Cell<bool>,
    /// How many of the request and its subrequests are with an origin, and hold something for that.
    pub asking: Cell<u32>,
}

impl Visit {
    /// What the limits said, for a request that goes on without the visitor.
    pub(super) fn apart(&self) -> Self {
        let Self { requests, connections, origin_requests, .. } = self;
        Self {
            requests: requests.clone(),
            connections: connections.clone(),
            origin_requests: origin_requests.clone(),
            ..Self::default()
        }
    }
}

/// What `$limit_req_status` and `$limit_conn_status` say of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitStatus {
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
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Delayed => "DELAYED",
            Self::Rejected => "REJECTED",
            Self::DelayedDryRun => "DELAYED_DRY_RUN",
            Self::RejectedDryRun => "REJECTED_DRY_RUN",
        }
    }
}
