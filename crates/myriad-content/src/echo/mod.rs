//! `echo*`: texts, waits, subrequests and redirects of the configuration, one after another (the module echo).

mod body;
mod command;
mod directives;
mod handler;
mod settings;
#[cfg(test)]
mod tests;
mod variables;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("echo", directives::ROWS).with_variables(variables::VARIABLES);
