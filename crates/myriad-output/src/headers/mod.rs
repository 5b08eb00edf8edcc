//! Fields that a place adds to the head and after the body, and fields that set the freshness: `add_header`,
//! `add_trailer`, `expires` (nginx's headers module).

pub(crate) mod add_header;
mod compile;
mod directives;
pub(crate) mod expires;
mod parse_expires;
mod settings;
pub(crate) mod trailers;

pub use compile::{added_fields, added_trailers, expiry, names, replaced, sets_freshness};
use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("headers", directives::ROWS);

#[cfg(test)]
mod tests;
