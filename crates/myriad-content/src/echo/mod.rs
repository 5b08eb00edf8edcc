//! `echo*`: configured texts, delays, subrequests and redirects in sequence (the echo module).

mod body;
mod command;
mod directives;
mod handler;
mod settings;
#[cfg(test)]
mod tests;
mod variables;

use myriad_exchange::feature::Feature;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("echo", directives::ROWS).with_variables(variables::VARIABLES);
