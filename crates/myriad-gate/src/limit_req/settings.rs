//! What the directives say.

use myriad_conf::Span;

use crate::limit_answer::LimitAnswer;

/// One `limit_req`; requests in thousandths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestLimit {
    /// Name of the zone.
    pub zone: String,
    /// `burst=`.
    pub burst: u64,
    /// `delay=`; `u64::MAX` for `nodelay`.
    pub delay: u64,
    /// `origin_only`: only what goes to an origin counts.
    pub origin_only: bool,
    /// The zone's name as written.
    pub span: Span,
}

/// `limit_req*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RequestLimitSettings {
    /// `limit_req`, in source order.
    pub limits: Vec<RequestLimit>,
    /// How a request that comes too fast is answered.
    pub answer: LimitAnswer,
}

myriad_conf::feature_settings!(RequestLimitSettings);
