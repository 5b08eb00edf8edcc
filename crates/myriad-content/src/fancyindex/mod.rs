//! `fancyindex`: what is in a folder that has no index, as a table that can be sorted (the module fancyindex).

mod directives;
mod insert;
mod list;
mod order;
mod page;
mod settings;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("fancyindex", directives::ROWS).compiled_by(list::compile);
