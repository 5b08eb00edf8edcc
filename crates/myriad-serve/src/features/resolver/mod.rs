//! `resolver`: name servers for names that are known only at run time.

mod compile;
mod directives;
mod settings;

pub(crate) use compile::{config, timeout_ms};
use myriad_exchange::feature::Feature;

/// Entry for the list of features.
pub(super) const FEATURE: Feature = Feature::new("resolver", directives::ROWS);
