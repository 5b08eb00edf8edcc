//! How much: `limit_req*`, `limit_conn*`.

use super::Level;
use crate::span::Span;

/// Settings that both kinds of limit have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitAnswer {
    /// `limit_*_status`: what a visitor beyond the limit gets.
    pub status: u16,
    /// `limit_*_log_level`.
    pub level: Level,
    /// `limit_*_dry_run`: only told, not done.
    pub dry_run: bool,
}

/// One `limit_req`; requests in thousandths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLimit {
    /// Name of the zone.
    pub zone: String,
    /// `burst=`.
    pub burst: u64,
    /// `delay=`; `u64::MAX` for `nodelay`.
    pub delay: u64,
    /// The zone's name as written.
    pub span: Span,
}

/// One `limit_conn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// Name of the zone.
    pub zone: String,
    /// At most this many at once.
    pub most: u16,
    /// The zone's name as written.
    pub span: Span,
}

/// Limits of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitSettings {
    /// `limit_req`, in source order.
    pub requests: Vec<RequestLimit>,
    /// How too many requests are answered.
    pub requests_answer: LimitAnswer,
    /// `limit_conn`, in source order.
    pub connections: Vec<ConnectionLimit>,
    /// How too many connections are answered.
    pub connections_answer: LimitAnswer,
}
