//! Fields that a place adds to the head, behind the body, and about how long an answer may be kept: `add_header`, `add_trailer`,
//! `expires` (nginx's headers module).

pub(crate) mod add_header;
mod compile;
mod directives;
pub(crate) mod expires;
mod parse_expires;
mod settings;
pub(crate) mod trailers;

pub use compile::{added_fields, added_trailers, expiry, names, replaced, says_freshness};
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("headers", directives::ROWS);

#[cfg(test)]
mod tests;
