//! `allow` and `deny`: access by client address; `satisfy`: combination of the results of all access checks.

mod check;
mod directives;
mod examine;
mod settings;

pub(super) use check::check;
use myriad_exchange::feature::Feature;
pub use settings::{AccessRule, AccessSettings, Satisfy};

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("access", directives::ROWS).examining_locations(examine::examine);

#[cfg(test)]
mod tests;
