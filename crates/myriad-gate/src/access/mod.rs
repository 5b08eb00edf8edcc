//! `allow` and `deny`: from which addresses visitors may come; `satisfy`: whether all kinds of checks must agree.

mod check;
mod directives;
mod examine;
mod settings;

pub(super) use check::check;
use myriad_exchange::feature::Feature;
pub use settings::{AccessRule, AccessSettings, Satisfy};

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("access", directives::ROWS).examining_locations(examine::examine);

#[cfg(test)]
mod tests;
