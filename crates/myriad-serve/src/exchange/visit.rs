//! What is known of the visitor beside the request: limits asked and held. Shared by a request and its subrequests.

use std::cell::{Cell, RefCell};

use crate::limits::{Held, LimitStatus};

/// A request's visit; most requests have none.
#[derive(Default)]
pub(crate) struct Visit {
    /// `$limit_req_status`; a request is asked once, wherever it is redirected to.
    pub requests: Cell<Option<LimitStatus>>,
    /// `$limit_conn_status`.
    pub connections: Cell<Option<LimitStatus>>,
    /// What counts against `limit_conn` until the request is over.
    pub held: RefCell<Vec<Held>>,
}
