//! Settings of `origin_queue` and `origin_priority`.

use myriad_conf::Text;

/// Parameters of `origin_queue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OriginQueueRules {
    /// `zone=`: name of the queue. Locations with the same name share its slots and its queue.
    pub zone: String,
    /// `concurrency=`: maximum number of concurrent requests to the origin.
    pub concurrency: Concurrency,
    /// `queue=`: maximum number of requests that wait for the origin.
    pub max_waiting: u32,
    /// `timeout=`: maximum time that a request waits for the origin, in milliseconds.
    pub timeout_ms: u64,
    /// `release=head`: a slot is released when the response head has arrived, not after its body.
    pub until_head: bool,
    /// `status=`: the status page of php-fpm also limits concurrent requests; `None` without it.
    pub status: Option<StatusRules>,
}

impl OriginQueueRules {
    /// Returns the limit on concurrent requests of the location.
    pub(super) fn bound(&self) -> ConcurrencyLimit {
        ConcurrencyLimit { concurrency: self.concurrency, uses_pool_status: self.status.is_some() }
    }
}

/// Status page of php-fpm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatusRules {
    /// `status=`: path, equal to `pm.status_path` of the pool.
    pub path: Box<[u8]>,
    /// `interval=`: pause between two status requests, in milliseconds.
    pub interval_ms: u64,
}

/// Limit on concurrent requests of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConcurrencyLimit {
    /// `concurrency=`: maximum number of concurrent requests to the origin.
    pub concurrency: Concurrency,
    /// Set if the number of php-fpm's children limits them as well (`status=`).
    pub uses_pool_status: bool,
}

/// `concurrency=`: maximum number of concurrent requests to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Concurrency {
    /// `concurrency=N`: fixed maximum.
    Fixed(u32),
    /// `concurrency=auto`: maximum learned from response times.
    Learned {
        /// `max=`: upper bound of the learned maximum.
        max: u32,
    },
}

/// `origin_queue` and `origin_priority` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueueSettings {
    /// `origin_queue`; `None` for `off`.
    pub queue: Option<OriginQueueRules>,
    /// `origin_priority`: text that evaluates to the class of a request; `None` for `normal`.
    pub priority: Option<Text>,
}

myriad_conf::feature_settings!(QueueSettings);
