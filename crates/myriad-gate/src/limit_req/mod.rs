//! `limit_req`: how fast a visitor asks, by a leaky bucket for each.

mod bucket;
mod check;
mod compile;
mod directives;
mod settings;
mod table;
mod variables;

pub(super) use compile::{Zones, check};
use myriad_exchange::feature::Feature;
pub(super) use table::RequestTable;

/// The feature, for the list of them. It examines the zones of `limit_conn` too: both share one space of names.
pub const FEATURE: Feature = Feature::new("limits", directives::ROWS)
    .examining_http(crate::limit_zone::examine)
    .with_variables(variables::VARIABLES);

#[cfg(test)]
mod tests;
