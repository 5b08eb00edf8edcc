//! `limit_req` and `limit_conn` of a place, compiled.

use std::sync::Arc;

use myriad_log::Level;
use myriad_script::Template;

use crate::limits::{ConnectionTable, Limit, RequestTable};

/// A zone: visitors are told apart by a text, and each kind of limit keeps a table of them.
pub(crate) struct LimitZone<T> {
    /// Its name.
    pub name: Box<str>,
    /// What visitors are told apart by; nobody is counted for whom it is empty.
    pub key: Template,
    /// What is known of them; it outlives reloads.
    pub table: Arc<T>,
}

/// What is done beyond a limit.
pub(crate) struct LimitAnswer {
    /// `limit_*_status`.
    pub status: u16,
    /// `limit_*_log_level`.
    pub level: Level,
    /// `limit_*_dry_run`.
    pub dry_run: bool,
}

/// `limit_req` of a place.
pub(crate) struct RequestLimits {
    /// The limits, in order.
    pub limits: Vec<(Arc<LimitZone<RequestTable>>, Limit)>,
    /// What is done beyond them.
    pub answer: LimitAnswer,
    /// How a delay is logged.
    pub delay_level: Level,
}

/// `limit_conn` of a place.
pub(crate) struct ConnectionLimits {
    /// The limits, in order, each with the most that one visitor may have under way.
    pub limits: Vec<(Arc<LimitZone<ConnectionTable>>, u16)>,
    /// What is done beyond them.
    pub answer: LimitAnswer,
}
