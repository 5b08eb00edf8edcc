//! Configuration of shared fetches: the client header fields that are sent to the origin, and the client input in cache
//! keys.

mod directives;
mod settings;

use myriad_exchange::feature::Feature;

pub use settings::{KeyedInput, SharedFetchSettings};

/// Registration of the directives `shared_fetch_headers`, `cache_key_field` and `cache_key_cookie`; listed in
/// `myriad-serve`.
pub const FEATURE: Feature = Feature::new("shared_fetch", directives::ROWS);
