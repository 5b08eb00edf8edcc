//! `add_header`, `add_trailer`, `expires`: fields that a location adds to the head and after the body (nginx's headers
//! module).
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings`, `compile` | directives, their settings and their compilation |
//! | `add_header`, `trailers` | addition of fields to the head, and after the body |
//! | `expires`, `parse_expires` | effect of `expires`; its syntax |

pub(crate) mod add_header;
mod compile;
mod directives;
pub(crate) mod expires;
mod parse_expires;
mod settings;
pub(crate) mod trailers;

pub use compile::{added_fields, added_trailers, expiry, names, replaced, sets_freshness};
use myriad_exchange::feature::Feature;

/// Registration of the directives `add_header*`, `add_trailer*` and `expires`.
pub const FEATURE: Feature = Feature::new("headers", directives::ROWS);

#[cfg(test)]
mod tests;
