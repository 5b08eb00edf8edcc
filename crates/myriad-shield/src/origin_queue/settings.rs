//! What the directives say.

use myriad_conf::Text;

/// `origin_queue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueueRules {
    /// `zone=`: places that name the same one share its slots and its queue.
    pub zone: String,
    /// `concurrency=`.
    pub concurrency: Concurrency,
    /// `queue=`: most requests that wait.
    pub most_waiting: u32,
    /// `timeout=`: the longest wait, milliseconds.
    pub timeout_ms: u64,
    /// `release=head`: a slot is free again when the head of the answer is there, not at the end of its body.
    pub until_head: bool,
    /// `status=`: what php-fpm itself says bounds it, too.
    pub status: Option<StatusRules>,
}

impl QueueRules {
    /// How many requests the origin is asked at once.
    pub(super) fn bound(&self) -> Bound {
        Bound { concurrency: self.concurrency, heeds_status: self.status.is_some() }
    }
}

/// Where php-fpm tells how its pool is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusRules {
    /// Its `pm.status_path`.
    pub path: Box<[u8]>,
    /// `interval=`, milliseconds.
    pub interval_ms: u64,
}

/// What bounds the requests of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    /// `concurrency=`.
    pub concurrency: Concurrency,
    /// Whether the children of the pool bound it, too.
    pub heeds_status: bool,
}

/// How many requests an origin is asked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concurrency {
    /// So many.
    Given(u32),
    /// As many as it bears, up to a bound.
    Learnt {
        /// `max=`.
        most: u32,
    },
}

/// The directives of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueSettings {
    /// `origin_queue`; none with `off`.
    pub queue: Option<QueueRules>,
    /// `origin_priority`.
    pub priority: Option<Text>,
}

myriad_conf::feature_settings!(QueueSettings);
