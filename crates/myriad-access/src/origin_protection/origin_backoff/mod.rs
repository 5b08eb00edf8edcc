//! `origin_backoff`: a page whose fetch has failed is fetched again after growing pauses. During a pause the stale page
//! is served if `*_cache_use_stale` covers that failure, without a fetch for each client; otherwise the response is 503
//! with `Retry-After`.
//!
//! ```text
//! idle -- fails --> pause of FIRST -- expired: one request fetches -- fails --> pause twice as long, up to MOST
//!   ^                                          |
//!   '---------------- succeeds ----------------'
//! ```

mod directives;
mod table;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Request;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use directives::{BackoffRules, BackoffSettings};
pub use table::ActivePause;
use table::TABLE;

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("shield", directives::ROWS).compiled_by(compile);

fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    if let Some(rules) = settings.feature::<BackoffSettings>().0 {
        features.insert(rules);
    }
}

/// Returns the active pause of the requested page; `None` if it may be fetched now, or without `origin_backoff`. `zone`
/// is the cache zone of the page, `now` is in milliseconds. When a pause has elapsed, only the first caller gets
/// `None`: for other requests another pause begins, which ends early if the fetch succeeds.
pub fn active_pause(request: &Request, zone: &str, now: u64) -> Option<ActivePause> {
    let rules = rules(request)?;
    TABLE.active_pause(zone, &request.cache.key, rules, now)
}

/// Records that the fetch of the page has failed, and begins the next pause; does nothing without `origin_backoff`.
/// `failure` is an arbitrary number that [`active_pause`] returns with the pause. `now` is in milliseconds.
pub fn record_failure(request: &Request, zone: &str, failure: u16, now: u64) {
    if let Some(rules) = rules(request) {
        TABLE.record_failure(zone, &request.cache.key, rules, (failure, now));
    }
}

/// Records that the fetch of the page has succeeded: its pause ends and its failures are forgotten. Does nothing
/// without `origin_backoff`.
pub fn record_success(request: &Request, zone: &str) {
    if rules(request).is_some() {
        TABLE.record_success(zone, &request.cache.key);
    }
}

fn rules(request: &Request) -> Option<BackoffRules> {
    request.place().features.get::<BackoffRules>().copied()
}
