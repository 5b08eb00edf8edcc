//! Directives of the modules set-misc and devel kit: variables by functions, among the steps of the rewrite module.
//!
//! What the functions do is in `myriad-functions`; here is how they are written. With one argument most of them change a variable in
//! its place.

mod directives;
mod settings;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub(super) const FEATURE: Feature = Feature::new("set_misc", directives::ROWS);
