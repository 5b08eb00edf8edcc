//! What a fetch of a page for everybody tells its origin of the visitor who caused it, and what of their request its key holds.

mod directives;
mod settings;

use myriad_exchange::feature::Feature;

pub use settings::{KeyedInput, SharedFetchSettings};

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("shared_fetch", directives::ROWS);
