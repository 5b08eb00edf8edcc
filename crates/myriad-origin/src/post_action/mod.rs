//! `post_action`: a request to another URI of the server after a response has been sent; its response is discarded. The
//! access log contains one line for both: the URI, status and upstream data of the action, and the amount of data sent
//! to the client.
//!
//! A worker runs at most [`MAX_CONCURRENT`](crate::background_requests::MAX_CONCURRENT) post actions at a time; further
//! ones are skipped with a warning.

mod action;
mod directives;

pub use action::wait_until_idle;
use myriad_exchange::feature::Feature;

/// Feature entry for the list of features in `myriad-serve`.
pub const FEATURE: Feature =
    Feature::new("post_action", directives::ROWS).compiled_by(action::compile_action);
