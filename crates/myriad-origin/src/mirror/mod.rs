//! `mirror`: admitted requests are repeated at other URIs of the server; the responses are discarded.
//!
//! A mirrored request is a background subrequest with the method and the fields of the client request and, unless
//! `mirror_request_body off`, its body. Their number per worker is limited by [`MAX_CONCURRENT`](crate::background_requests::MAX_CONCURRENT);
//! requests beyond it are not mirrored.

mod check;
mod directives;

pub use check::check;
use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("mirror", directives::ROWS);
