//! Client header fields that a shared fetch sends to its origin, and the client input that its key contains.

mod directives;
mod settings;

use myriad_exchange::feature::Feature;

pub use settings::{KeyedInput, SharedFetchSettings};

/// Feature for the feature list.
pub const FEATURE: Feature = Feature::new("shared_fetch", directives::ROWS);
