//! `fancyindex`: listing of a directory without an index file as a sortable table (the fancyindex module).

mod directives;
mod insert;
mod list;
mod order;
mod page;
mod settings;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("fancyindex", directives::ROWS).compiled_by(list::compile);
