//! `origin_backoff`: a page whose fetch has failed is fetched again after growing pauses. Meanwhile the stale page is served where
//! `*_cache_use_stale` speaks of that failure, without a fetch for each visitor; else 503 with `Retry-After`.
//!
//! ```text
//! at ease -- fails --> pause of FIRST -- over: one request asks -- fails --> pause twice as long, up to MOST
//!    ^                                          |
//!    '---------------- succeeds ----------------'
//! ```

mod directives;
mod table;

use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Request;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use directives::{BackoffRules, BackoffSettings};
pub use table::HeldOff;
use table::TABLE;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("shield", directives::ROWS).compiled_by(compile);

fn compile(_: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    if let Some(rules) = settings.feature::<BackoffSettings>().0 {
        features.keep(rules);
    }
}

/// Whether the page of the request is to be left alone for now; none where it may be fetched. `zone` is that of its key.
/// When a pause is over one request may fetch it: for the others it lasts on, until that one has come to something.
pub fn held_off(request: &Request, zone: &str, now: u64) -> Option<HeldOff> {
    let rules = rules(request)?;
    TABLE.ask(zone, &request.cache.key, rules, now)
}

/// The fetch of the page has failed; `failure` is a number that is told with the pause.
pub fn failed(request: &Request, zone: &str, failure: u16, now: u64) {
    if let Some(rules) = rules(request) {
        TABLE.failed(zone, &request.cache.key, rules, (failure, now));
    }
}

/// The fetch of the page has succeeded.
pub fn succeeded(request: &Request, zone: &str) {
    if rules(request).is_some() {
        TABLE.succeeded(zone, &request.cache.key);
    }
}

fn rules(request: &Request) -> Option<BackoffRules> {
    request.place().features.get::<BackoffRules>().copied()
}
