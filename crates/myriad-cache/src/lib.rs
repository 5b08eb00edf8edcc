//! Journey of a page: look-up, wait, fetch, store, serve. [`next`] shows its steps.
//!
//! `directives` and `settings` contain the configuration of the cache, `shared_fetch` that of shared fetches. `examine`
//! finds configuration errors that involve several of these directives.

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

/// Feature for the feature list.
pub const FEATURE: Feature = Feature::new("cache", directives::ROWS)
    .and_of_origins(directives::OF_ORIGINS)
    .examining_blocks(examine::block)
    .examining_http(examine::http)
    .with_variables(variables::VARIABLES);
