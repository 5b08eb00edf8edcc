//! Settings of the directives.

use myriad_conf::Span;

use crate::limit_response::LimitResponse;

/// Settings of one `limit_req`; requests in thousandths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestLimit {
    /// Name of the zone.
    pub zone: String,
    /// `burst=`.
    pub burst: u64,
    /// `delay=`; `u64::MAX` for `nodelay`.
    pub delay: u64,
    /// `origin_only`: counts only requests to an origin.
    pub origin_only: bool,
    /// Position of the zone's name in the source.
    pub span: Span,
}

/// `limit_req*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestLimitSettings {
    /// `limit_req`, in source order.
    pub limits: Vec<RequestLimit>,
    /// Treatment of requests beyond the limit.
    pub answer: LimitResponse,
}

myriad_conf::feature_settings!(RequestLimitSettings);
