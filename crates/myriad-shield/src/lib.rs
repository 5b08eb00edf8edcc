//! What stands before origins, whatever protocol they speak. It is asked for what really goes to an origin: never for a page that
//! is stored, nor for those who wait for the fetch of another.
//!
//! | folder | what | directives |
//! |---|---|---|
//! | `origin_queue` | a bounded queue with classes, and how many requests an origin has at once | `origin_queue`, `origin_priority` |
//! | `origin_limits` | limits of visitors, asked before the origin | `limit_req`, `limit_conn` with `origin_only`: rows of `myriad-gate` |
//!
//! `admit` asks them one after another, and comes to a `Permit`, which a request holds while its origin is busy with it.

#![forbid(unsafe_code)]

mod admit;
mod origin_limits;
pub mod origin_queue;
mod permit;

pub use admit::admit;
pub use permit::Permit;
