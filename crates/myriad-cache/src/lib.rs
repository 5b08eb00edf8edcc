//! Steps of a cached request: look-up, wait, fetch, store, serve. [`journey_step`] shows their order.
//!
//! `directives` and `settings` contain the configuration of the cache, `shared_fetch` that of shared fetches. `examine`
//! detects configuration errors that involve several of these directives.

mod adaptive_validity;
mod age;
mod arrival;
pub mod assets;
mod claim;
mod companion;
mod complete;
pub mod device_class;
mod directives;
mod disk;
pub mod early_hints_stored;
mod early_refresh;
pub mod esi;
mod examine;
mod explain;
mod fetch;
mod flight_wait;
pub mod handler;
mod hidden_fields;
mod invalidate;
mod journey;
mod journey_step;
mod leader_cookies;
mod leak_guard;
mod look_up;
#[cfg(all(feature = "image", feature = "optimizer"))]
mod made_file;
mod made_page;
pub mod maintenance;
mod max_range_offset;
#[cfg(feature = "optimizer")]
pub mod optimize;
mod origin_fields;
mod origin_protection;
mod other_codings;
mod own_files;
mod page;
mod pass;
mod read_body;
mod reader;
mod refresh;
mod revalidate;
mod serve;
mod server_client;
pub mod settings;
mod share;
pub mod shared_fetch;
mod shared_fetch_headers;
mod stale;
mod stale_fallback;
mod unlocked_fetch;
mod validity;
mod variables;
mod work_budget;

use myriad_exchange::feature::Feature;

pub use server_client::SERVER_CLIENT;

/// Registration of the `*_cache*` directives and the other cache directives, their checks, and the cache variables;
/// listed in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("cache", directives::ROWS)
    .and_of_origins(directives::OF_ORIGINS)
    .examining_blocks(examine::block)
    .examining_http(examine::http)
    .with_variables(variables::VARIABLES);
