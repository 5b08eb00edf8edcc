//! The journey of a page: looked up, waited for, fetched, stored, served. [`next`] shows its steps.
//!
//! `directives` and `settings` hold what a configuration says of it, `shared_fetch` what it says of a fetch for everybody; `examine`
//! finds what only several of these directives together show.

mod age;
mod arrival;
pub mod assets;
mod claim;
mod companion;
mod complete;
pub mod device_class;
mod directives;
mod disk;
mod early;
pub mod early_hints_stored;
pub mod esi;
mod examine;
mod explain;
mod far_range;
mod fetch;
mod follow;
mod gather;
pub mod handler;
mod hidden_fields;
mod invalidate;
mod journey;
mod lead;
mod leader_cookies;
mod look_up;
pub mod maintenance;
mod next;
mod origin_fields;
mod other_codings;
mod page;
mod pass;
mod reader;
mod refresh;
mod revalidate;
mod serve;
pub mod settings;
pub mod shared_fetch;
mod shield;
mod stale;
mod stale_instead;
#[cfg(test)]
mod testing;
mod told;
mod validity;
mod variables;

use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("cache", directives::ROWS)
    .and_of_origins(directives::OF_ORIGINS)
    .examining_blocks(examine::block)
    .examining_http(examine::http)
    .with_variables(variables::VARIABLES);
