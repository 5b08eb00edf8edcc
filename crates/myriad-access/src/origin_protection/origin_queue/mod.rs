//! `origin_queue`, `origin_priority`: during a load peak, requests wait here in a bounded queue, and not in the
//! application.
//!
//! ```text
//! enter -- a slot is free, the queue is empty --> sent ---- body complete, or dropped: the slot is released
//!    |                                             ^            (with `release=head` when the head has arrived)
//!    |---- waits in its class -- notified ---------'
//!    |                   |---- client disconnects: it leaves the queue
//!    |                   '---- timeout, or displaced by a higher class -----.
//!    '---- the queue is full -----------------------------------------------+--> stale page, or 503 with `Retry-After`
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `directives`, `settings`, `compile` | directives, their settings and their compilation |
//! | `class` | priority classes of requests, and the effect of waiting |
//! | `learned_limit` | number of concurrent requests, learned from response times |
//! | `queue` | slots and waiting requests, shared by all workers |
//! | `enter` | entry of a request into the queue |
//! | `pool_children`, `pool_watch` | number of concurrent requests from the status page of php-fpm |

mod class;
mod compile;
mod directives;
mod enter;
mod learned_limit;
mod pool_children;
mod pool_watch;
mod queue;
mod settings;

use myriad_exchange::feature::Feature;

pub use enter::set_retry_after;
pub(crate) use enter::{OccupiedSlot, enter};
pub use pool_watch::{PoolWatch, WatchedLocation};
pub use queue::{QueueReport, reports};

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("shield", directives::ROWS).compiled_by(compile::compile);
