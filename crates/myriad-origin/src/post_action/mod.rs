//! `post_action`: a request to another URI of the server after a response has been sent; its response is discarded. The
//! access log contains one line for both: the URI, status and upstream data of the action, and the data sent to the
//! client.
//!
//! Their number per worker is limited by [`MAX_CONCURRENT`](crate::background_requests::MAX_CONCURRENT); actions beyond it are omitted.

mod action;
mod directives;

pub use action::wait_until_idle;
use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature =
    Feature::new("post_action", directives::ROWS).compiled_by(action::compile_action);
