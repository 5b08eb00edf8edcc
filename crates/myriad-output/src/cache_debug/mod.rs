//! `cache_debug`, `cache_status`: response fields that describe the cache handling.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings`, `compile` | directives, their settings and their compilation |
//! | `add` | addition of the fields to a response |
//! | `status` | value of `Cache-Status` |

mod add;
mod compile;
mod directives;
mod settings;
mod status;

pub(crate) use add::add;
pub use compile::compiled;
use myriad_exchange::feature::Feature;

/// Registration of the directives `cache_debug` and `cache_status`.
pub const FEATURE: Feature = Feature::new("control", directives::ROWS);
