//! `stub_status`: basic counters in nginx's format.

mod handler;
mod variables;

use myriad_exchange::feature::Feature;

/// Registration of the feature `stub_status`.
pub const FEATURE: Feature = Feature::new("stub_status", handler::ROWS).with_variables(variables::VARIABLES);
