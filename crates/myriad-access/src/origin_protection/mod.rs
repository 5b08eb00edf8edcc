//! Protection of origins, whatever their protocol. It applies only to requests that are sent to an origin: not to
//! responses from the cache, and not to requests that wait for the fetch of another request.
//!
//! | folder | contents | directives |
//! |---|---|---|
//! | `origin_queue` | bounded queue with classes, and the number of concurrent requests to an origin | `origin_queue`, `origin_priority` |
//! | `origin_backoff` | growing pauses before a page is fetched again after its fetch has failed | `origin_backoff` |
//! | `origin_query_limit` | rate at which new queries of one client network are sent to an origin | `origin_query_limit` |
//! | `origin_challenge` | page with a proof of work that browsers solve automatically, before a request uses the origin | `origin_challenge` |
//! | `bots` | classification of robots | `bots` |
//! | `origin_limits` | client limits that are checked before the origin | `limit_req`, `limit_conn` with `origin_only` |
//!
//! `admit` checks the limits and then the queue, and returns an `OriginPermit`, which a request retains while its
//! origin processes it. The steps of a cached request (`myriad-cache`) check challenge, queries and pauses before they
//! fetch a page.

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

pub use admit::admit_to_origin;
pub use permit::OriginPermit;
