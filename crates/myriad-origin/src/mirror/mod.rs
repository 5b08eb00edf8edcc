//! `mirror`: requests that are let in are also asked for at other URIs of the server, whose answers nobody gets.
//!
//! A mirrored request is a subrequest that nobody waits for: it has the method, the fields and, unless `mirror_request_body off`, the body
//! of the visitor's. A worker asks so many at once ([`MOST`](crate::under_way::MOST)); where an origin of theirs is slow, what comes beyond is not mirrored.

mod check;
mod directives;

pub use check::check;
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("mirror", directives::ROWS);
