//! `limit_conn`: limits the number of concurrent requests of a client (more exactly, of a key).

mod check;
mod compile;
mod directives;
mod settings;
mod table;
mod variables;

pub(super) use compile::{ConnectionZones, check};
use myriad_exchange::feature::Feature;
pub use settings::{ConnectionLimit, ConnectionLimitSettings};
pub use table::{ConnectionTable, CountedRequest};

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("limits", directives::ROWS).with_variables(variables::VARIABLES);
