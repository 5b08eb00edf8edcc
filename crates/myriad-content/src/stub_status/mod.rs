//! `stub_status`: a few counts, in nginx's words.

mod handler;
mod variables;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("stub_status", handler::ROWS).with_variables(variables::VARIABLES);

#[cfg(test)]
mod tests;
