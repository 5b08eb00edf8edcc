//! `resolver`: DNS servers for host names that are resolved at run time.

mod compile;
mod directives;
mod settings;

pub(crate) use compile::{config, timeout_ms};
use myriad_exchange::feature::Feature;

/// Registration of the directives `resolver` and `resolver_timeout`.
pub(super) const FEATURE: Feature = Feature::new("resolver", directives::ROWS);
