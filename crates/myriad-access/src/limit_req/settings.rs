//! Settings of `limit_req*`.

use myriad_conf::Span;

use crate::limit_response::LimitResponse;

/// One `limit_req` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestLimit {
    /// Name of the `limit_req_zone` that counts the requests.
    pub zone: String,
    /// `burst=`: maximum excess over the rate, in thousandths of a request; beyond it requests are rejected.
    pub burst: u64,
    /// `delay=`: excess over the rate up to which requests are not delayed, in thousandths of a request; `u64::MAX` for
    /// `nodelay`.
    pub delay: u64,
    /// `origin_only`: only requests to an origin count.
    pub origin_only: bool,
    /// Position of the zone's name in the source.
    pub span: Span,
}

/// `limit_req*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestLimitSettings {
    /// `limit_req`, in source order.
    pub limits: Vec<RequestLimit>,
    /// Status, log level and dry run for requests beyond a limit.
    pub answer: LimitResponse,
}

myriad_conf::feature_settings!(RequestLimitSettings);
