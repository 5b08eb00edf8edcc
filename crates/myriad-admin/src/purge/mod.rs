//! Purges by requests, by responses of origins, and by administrators.

mod access;
mod answer;
mod compile;
mod directives;
pub mod foreign_page;
pub mod own_host;
mod place;
pub mod request;
mod run;
mod settings;
mod style;
#[cfg(test)]
mod tests;
mod zone_purge;

use myriad_exchange::feature::Feature;

pub use compile::rules;
pub use run::{AppliedPurge, BegunPurge, CompletedPurge, PurgeFailure, PurgeResult};
pub use run::{
    advance_purges, begin, begin_all, begin_in, begin_invalidation, check, expire_zone, finish, invalidate,
    remove_keys, run, run_received, shorten_name,
};
pub use zone_purge::{PurgeEffect, ZonePurge};

/// Registration of the directives about cache purges.
pub const FEATURE: Feature = Feature::new("cache", directives::ROWS)
    .and_of_origins(directives::OF_ORIGINS)
    .compiled_by(style::keep_style);
