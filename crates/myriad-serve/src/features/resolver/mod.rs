//! `resolver`: name servers for names that are known only when a request comes.

mod compile;
mod directives;
mod settings;

pub(crate) use compile::{config, timeout_ms};
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub(super) const FEATURE: Feature = Feature::new("resolver", directives::ROWS);
