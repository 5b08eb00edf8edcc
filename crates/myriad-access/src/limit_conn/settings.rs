//! Settings of `limit_conn*`.

use myriad_conf::Span;

use crate::limit_response::LimitResponse;

/// One `limit_conn` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// Name of the `limit_conn_zone` that counts the requests.
    pub zone: String,
    /// Maximum number of concurrent requests with the same key of the zone, for example from one client address.
    pub max: u16,
    /// `origin_only`: only requests to an origin count. Ignored in `stream`, where all sessions count.
    pub origin_only: bool,
    /// Position of the zone's name in the source.
    pub span: Span,
}

/// `limit_conn*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLimitSettings {
    /// `limit_conn`, in source order.
    pub limits: Vec<ConnectionLimit>,
    /// Status, log level and dry run for requests beyond a limit.
    pub answer: LimitResponse,
}

myriad_conf::feature_settings!(ConnectionLimitSettings);
