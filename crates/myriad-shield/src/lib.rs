//! What stands before origins, whatever protocol they speak. It is asked for what really goes to an origin: never for a page that
//! is stored, nor for those who wait for the fetch of another.
//!
//! | folder | what | directives |
//! |---|---|---|
//! | `origin_queue` | a bounded queue with classes, and how many requests an origin has at once | `origin_queue`, `origin_priority` |
//! | `origin_backoff` | growing pauses before a page is fetched again whose fetch has failed | `origin_backoff` |
//! | `origin_query_limit` | rate at which new queries of one client network go to an origin | `origin_query_limit` |
//! | `origin_challenge` | a page that browsers answer by themselves, before a request costs the origin anything | `origin_challenge` |
//! | `bots` | which kind of robot a visitor is | `bots` |
//! | `origin_limits` | limits of visitors, asked before the origin | `limit_req`, `limit_conn` with `origin_only`: rows of `myriad-gate` |
//!
//! `admit` asks queue and limits one after another, and comes to a `Permit`, which a request holds while its origin is busy with it. The journey of a
//! page asks challenge, queries and pauses before it claims the page.

#![forbid(unsafe_code)]

mod admit;
pub mod bots;
mod network;
pub mod origin_backoff;
pub mod origin_challenge;
mod origin_limits;
pub mod origin_query_limit;
pub mod origin_queue;
mod permit;
mod rate_table;
mod refuse;

pub use admit::admit;
pub use permit::Permit;
