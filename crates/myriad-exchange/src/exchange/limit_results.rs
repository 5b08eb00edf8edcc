//! Limit results shared by a request and its subrequests.

use std::any::Any;
use std::cell::{Cell, RefCell};

/// Limit results of a request. It is not created if no limit is checked.
#[derive(Default)]
pub struct LimitResults {
    /// `$limit_req_status`. A request is checked once, even if it is redirected.
    pub requests: Cell<Option<LimitStatus>>,
    /// `$limit_conn_status`. A request is checked once, even if it is redirected.
    pub connections: Cell<Option<LimitStatus>>,
    /// Slots counted against limits while the request is in progress. Dropped when the request and its subrequests are
    /// finished.
    pub client_slots: RefCell<Option<Box<dyn Any>>>,
    /// Result like `requests`, for limits that apply only to requests to origins (`limit_req ... origin_only`).
    pub origin_requests: Cell<Option<LimitStatus>>,
    /// Slots of limits that apply only to requests to origins (`limit_conn ... origin_only`), until the request to the
    /// origin takes them.
    pub origin_slots: RefCell<Option<Box<dyn Any>>>,
    /// Set if the client's network sends more new queries than `origin_query_limit` admits. The request goes to the
    /// origin after all others.
    pub beyond_query_limit: Cell<bool>,
    /// Number of requests to origins in progress, of the request and its subrequests, that occupy slots.
    pub active_fetches: Cell<u32>,
}

impl LimitResults {
    /// Returns the results for a request that continues independently of the client.
    pub(super) fn detached(&self) -> Self {
        let Self { requests, connections, origin_requests, .. } = self;
        Self {
            requests: requests.clone(),
            connections: connections.clone(),
            origin_requests: origin_requests.clone(),
            ..Self::default()
        }
    }
}

/// Value of `$limit_req_status` and `$limit_conn_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitStatus {
    /// Within the limit.
    Passed,
    /// Delayed.
    Delayed,
    /// Rejected.
    Rejected,
    /// Would have been delayed, but for the dry run.
    DelayedDryRun,
    /// Would have been rejected, but for the dry run.
    RejectedDryRun,
}

impl LimitStatus {
    /// Returns the text of the variable.
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
