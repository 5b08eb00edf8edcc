//! `post_action`: when an answer has been sent, another address of the server is asked, and nobody gets what it answers. The access log
//! has one line for both: the last address, its status and the origin's part, with what was sent to the visitor.
//!
//! A worker asks so many at once ([`MOST`](crate::under_way::MOST)); where an origin of theirs is slow, what comes beyond is left out.

mod action;
mod directives;

pub use action::ended;
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("post_action", directives::ROWS).compiled_by(action::keep);
