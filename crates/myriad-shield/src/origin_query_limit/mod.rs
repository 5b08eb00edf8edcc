//! `origin_query_limit`: at most so many new queries of a path, a network or a server go to the origin in a time. Filters, calendars and
//! searches of a site have endless addresses; whoever walks through them fills neither the application nor the cache.
//!
//! What is stored, fresh or stale, is none of it; a query that was let through a while ago neither.

mod directives;
mod judge;
mod settings;
mod table;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};

use crate::origin_challenge::{self, Passes};
use judge::QueryLimit;
pub use judge::{Sought, judge};
use settings::{Action, QuerySettings};

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("shield", directives::ROWS).compiled_by(compile);

fn compile(compiler: &mut dyn SettingsCompiler, settings: &Settings, features: &mut PlaceFeatures) {
    if let Some(rules) = &settings.feature::<QuerySettings>().0 {
        let unless = rules.unless.as_ref().map(|text| compiler.apart_template(text));
        let passes =
            (rules.action == Action::Challenge).then(|| Passes::new(origin_challenge::rules(settings)));
        features.keep(QueryLimit::new(rules.clone(), passes, unless));
    }
}
