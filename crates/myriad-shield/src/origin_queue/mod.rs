//! `origin_queue`, `origin_priority`: a rush waits here, in a bounded queue, and not before the application.
//!
//! ```text
//! enter -- a slot is free, nobody waits ----> asked ---- body at its end, or dropped: the slot is given back
//!    |                                          ^            (with `release=head` as soon as the head is there)
//!    |---- waits among its class -- called -----'
//!    |                   |---- client gone: it leaves the queue
//!    |                   '---- too long, or displaced by a better class --.
//!    '---- the queue is full ---------------------------------------------+--> stale page, or 503 with `Retry-After`
//! ```
//!
//! | file | what |
//! |---|---|
//! | `class` | classes of requests, and how waiting lifts them |
//! | `learnt` | how many requests an origin bears, learnt from how long it takes |
//! | `queue` | slots and those who wait for one, shared by all workers |
//! | `enter` | a request before the queue |
//! | `children`, `watch` | how many requests php-fpm has children for, by the status that it tells |

mod children;
mod class;
mod compile;
mod directives;
mod enter;
mod learnt;
mod queue;
mod settings;
mod watch;

use myriad_exchange::feature::Feature;

pub use enter::retry_later;
pub(crate) use enter::{Taken, enter};
pub use queue::reports;
pub use watch::{StatusPlace, Watch};

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("shield", directives::ROWS).compiled_by(compile::compile);
