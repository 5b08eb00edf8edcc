//! `autoindex`: listing of a directory without an index file (nginx's autoindex module).

mod directives;
mod html;
mod json;
mod list;
mod settings;
#[cfg(test)]
mod tests;
mod xml;

use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("autoindex", directives::ROWS).compiled_by(list::compile);
