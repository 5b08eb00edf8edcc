//! Settings of the directives.

use myriad_conf::Text;

/// Settings of `origin_queue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OriginQueueRules {
    /// `zone=`: locations with the same zone share its slots and its queue.
    pub zone: String,
    /// `concurrency=`.
    pub concurrency: Concurrency,
    /// `queue=`: maximum number of requests that wait.
    pub max_waiting: u32,
    /// `timeout=`: maximum wait, in milliseconds.
    pub timeout_ms: u64,
    /// `release=head`: a slot is released when the response head has arrived, not after its body.
    pub until_head: bool,
    /// `status=`: the status page of php-fpm bounds the queue as well.
    pub status: Option<StatusRules>,
}

impl OriginQueueRules {
    /// Returns the bound of concurrent requests to the origin.
    pub(super) fn bound(&self) -> ConcurrencyLimit {
        ConcurrencyLimit { concurrency: self.concurrency, uses_pool_status: self.status.is_some() }
    }
}

/// Source of the status of php-fpm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusRules {
    /// `pm.status_path` of the pool.
    pub path: Box<[u8]>,
    /// `interval=`, in milliseconds.
    pub interval_ms: u64,
}

/// Bound of the requests of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConcurrencyLimit {
    /// `concurrency=`.
    pub concurrency: Concurrency,
    /// Set if the children of the pool bound them as well.
    pub uses_pool_status: bool,
}

/// Number of concurrent requests to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concurrency {
    /// Fixed number.
    Fixed(u32),
    /// Learnt from response times, up to `max=`.
    Learned {
        /// `max=`.
        max: u32,
    },
}

/// Directives of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueSettings {
    /// `origin_queue`; `None` with `off`.
    pub queue: Option<OriginQueueRules>,
    /// `origin_priority`.
    pub priority: Option<Text>,
}

myriad_conf::feature_settings!(QueueSettings);
