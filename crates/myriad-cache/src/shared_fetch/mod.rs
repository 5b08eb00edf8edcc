//! Configuration of shared fetches: the client header fields that are sent to the origin, and the client input in cache
//! keys.

mod directives;
mod settings;

use myriad_exchange::feature::Feature;

pub use settings::{KeyedInput, SharedFetchSettings};

/// Feature entry for the list of features in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("shared_fetch", directives::ROWS);
