//! Changes header fields of requests before the other checks and the content handler read them, like the module
//! headers-more: `more_set_input_headers`, `more_clear_input_headers`.
//!
//! The change is implemented as the first check of a location, which runs after the rewrite rules as in nginx and never
//! rejects a request.

mod check;
mod directives;
mod settings;

use myriad_exchange::feature::Feature;

pub(crate) use check::check;

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("headers_more", directives::ROWS);
