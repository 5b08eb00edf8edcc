//! Results of rate and connection limits, shared by a request and its subrequests.

use std::any::Any;
use std::cell::{Cell, RefCell};

/// Results of `limit_req` and `limit_conn` for a client's request, shared with its subrequests.
#[derive(Default)]
pub struct LimitResults {
    /// `$limit_req_status`; `None` until a limit without `origin_only` was applied (a limit with an empty key is
    /// not). The request is not checked again afterwards, even if it is redirected internally.
    pub requests: Cell<Option<LimitStatus>>,
    /// `$limit_conn_status`; `None` until a limit without `origin_only` has counted or rejected the request (a limit with an
    /// empty key does neither). The request is not checked again afterwards, even if it is redirected internally.
    pub connections: Cell<Option<LimitStatus>>,
    /// Slots that the request occupies in `limit_conn` limits without `origin_only`; `None` before the check, and if it
    /// occupies none. Released on drop, when the request and its subrequests are finished.
    pub client_slots: RefCell<Option<Box<dyn Any>>>,
    /// Result of the last check of the `limit_req` limits that apply only to requests to origins (`origin_only`);
    /// `None` before, and if their keys are empty.
    pub origin_requests: Cell<Option<LimitStatus>>,
    /// Slots of the `limit_conn` limits that apply only to requests to origins (`origin_only`), from the check until
    /// a request to an origin takes them over; otherwise `None`.
    pub origin_slots: RefCell<Option<Box<dyn Any>>>,
    /// Set if the client's network exceeds `origin_query_limit`. This request then gets the last priority class in the
    /// queue of the origin.
    pub beyond_query_limit: Cell<bool>,
    /// Number of requests to origins in progress, by the request and its subrequests, that occupy a slot of
    /// `origin_queue` or of a `limit_conn` limit with `origin_only`. While it is not 0, further subrequests neither
    /// wait in `origin_queue` nor count in `limit_conn` limits with `origin_only`.
    pub active_fetches: Cell<u32>,
}

impl LimitResults {
    /// Returns the results for a request that continues independently of the client: without slots and requests to
    /// origins in progress, and not marked as beyond `origin_query_limit`.
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

/// Result of a limit for a request: value of `$limit_req_status` or `$limit_conn_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitStatus {
    /// The request is within the limit.
    Passed,
    /// The request was delayed.
    Delayed,
    /// The request was rejected.
    Rejected,
    /// The request was admitted, but would have been delayed if dry run were off (`limit_req_dry_run`).
    DelayedDryRun,
    /// The request was admitted, but would have been rejected if dry run were off (`limit_req_dry_run`,
    /// `limit_conn_dry_run`).
    RejectedDryRun,
}

impl LimitStatus {
    /// Returns the value of `$limit_req_status` or `$limit_conn_status`.
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
