//! What the directives say.

use myriad_conf::Span;

use crate::limit_answer::LimitAnswer;

/// One `limit_conn`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionLimit {
    /// Name of the zone.
    pub zone: String,
    /// At most this many at once.
    pub most: u16,
    /// `origin_only`: only what goes to an origin counts; of sessions in `stream` all do.
    pub origin_only: bool,
    /// The zone's name as written.
    pub span: Span,
}

/// `limit_conn*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLimitSettings {
    /// `limit_conn`, in source order.
    pub limits: Vec<ConnectionLimit>,
    /// How a request of a visitor who has too many under way is answered.
    pub answer: LimitAnswer,
}

myriad_conf::feature_settings!(ConnectionLimitSettings);
