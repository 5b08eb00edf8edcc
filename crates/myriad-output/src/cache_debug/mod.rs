//! `cache_debug`, `cache_status`: response fields that describe the cache handling.

mod add;
mod compile;
mod directives;
mod settings;
mod status;

pub(crate) use add::add;
pub use compile::compiled;
use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);
