//! `mirror`: sends copies of admitted requests to other URIs of the server and discards the responses.
//!
//! A mirrored request is a background subrequest with the method and the fields of the client request and, unless
//! `mirror_request_body off`, its body. A worker sends at most
//! [`MAX_CONCURRENT`](crate::background_requests::MAX_CONCURRENT) of them at a time; further requests are not mirrored.

mod check;
mod directives;

pub use check::check;
use myriad_exchange::feature::Feature;

/// Feature entry for the list of features in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("mirror", directives::ROWS);
