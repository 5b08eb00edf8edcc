//! Settings of the directives.

use myriad_conf::Span;

use crate::limit_response::LimitResponse;

/// Settings of one `limit_conn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// Name of the zone.
    pub zone: String,
    /// Maximum number of concurrent requests.
    pub max: u16,
    /// `origin_only`: counts only requests to an origin. In `stream` all sessions count.
    pub origin_only: bool,
    /// Position of the zone's name in the source.
    pub span: Span,
}

/// `limit_conn*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLimitSettings {
    /// `limit_conn`, in source order.
    pub limits: Vec<ConnectionLimit>,
    /// Treatment of requests beyond the limit.
    pub answer: LimitResponse,
}

myriad_conf::feature_settings!(ConnectionLimitSettings);
