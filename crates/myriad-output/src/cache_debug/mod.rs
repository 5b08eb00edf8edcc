//! `cache_debug`, `cache_status`: fields that say what the cache did.

mod add;
mod compile;
mod directives;
mod settings;
mod status;

pub(crate) use add::add;
pub use compile::compiled;
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);
