//! `autoindex`: what is in a folder that has no index (nginx's autoindex module).

mod directives;
mod html;
mod json;
mod list;
mod settings;
#[cfg(test)]
mod tests;
mod xml;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("autoindex", directives::ROWS).compiled_by(list::compile);
