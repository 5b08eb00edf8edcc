//! `limit_req`: limits the request rate of a client, with a leaky bucket for each key.

mod bucket;
mod check;
mod compile;
mod directives;
mod settings;
mod table;
mod variables;

pub(super) use compile::{RequestZones, check, max_bursts};
use myriad_exchange::feature::Feature;
pub(super) use table::RequestTable;

/// Registration of this feature. It also validates the zones of `limit_conn`, because `limit_req` and `limit_conn`
/// share one namespace.
pub const FEATURE: Feature = Feature::new("limits", directives::ROWS)
    .examining_http(crate::limit_zone::examine)
    .with_variables(variables::VARIABLES);
