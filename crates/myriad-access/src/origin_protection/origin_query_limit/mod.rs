//! `origin_query_limit`: limits the rate at which one client network sends new query strings to the origin. Filters,
//! calendars and searches of a site have an unlimited number of URLs; a robot that requests all of them would overload
//! the application and fill the cache.
//!
//! A stored page, fresh or stale, is not counted, nor is a query that was admitted before. Requests of other networks
//! do not count against the limit of a client.

mod check;
mod directives;
mod settings;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use crate::origin_protection::origin_challenge::{self, PassSigner};
use check::QueryLimit;
pub use check::{LimitedQuery, OriginFetch, judge};
use settings::{LimitAction, QuerySettings};

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("shield", directives::ROWS).compiled_by(compile);

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    if let Some(rules) = &settings.feature::<QuerySettings>().0 {
        let unless = rules.unless.as_ref().map(|text| compiler.origin_template(text));
        let passes = (rules.action == LimitAction::Challenge)
            .then(|| PassSigner::new(origin_challenge::rules(settings)));
        features.insert(QueryLimit::new(rules.clone(), passes, unless));
    }
}
