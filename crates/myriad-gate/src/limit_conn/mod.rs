//! `limit_conn`: how many requests a visitor has under way.

mod check;
mod compile;
mod directives;
mod settings;
mod table;
mod variables;

pub(super) use compile::{Zones, check};
use myriad_exchange::feature::Feature;
pub use settings::{ConnectionLimit, ConnectionLimitSettings};
pub use table::{ConnectionTable, Held};

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("limits", directives::ROWS).with_variables(variables::VARIABLES);

#[cfg(test)]
mod tests;
