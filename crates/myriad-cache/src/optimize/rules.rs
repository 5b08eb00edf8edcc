//! Compiled settings of the page optimizer.

use std::hash::Hasher;

use myriad_conf::settings::Settings;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_optimize::{Exclusions, FilterSet, OptimizeLimits, OptimizeOptions};
use myriad_output::headers;
use xxhash_rust::xxh3::Xxh3Default;

use super::directives::OptimizeSettings;

/// Fields whose policy may forbid the resources that the optimizer makes.
pub(super) const POLICY_FIELDS: [&[u8]; 2] =
    [b"content-security-policy", b"content-security-policy-report-only"];

/// Compiled settings of the page optimizer in a location where it is on.
#[derive(Clone)]
pub(super) struct OptimizeRules {
    /// Filters, limits and exclusions.
    pub options: OptimizeOptions,
    /// True if `add_header` adds a Content-Security-Policy.
    pub adds_policy: bool,
    /// Part of the time of one core that the optimizer may use, in millionths.
    pub budget_ppm: u32,
}

/// Compiles the settings of a location where `optimize` is on.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let own = settings.feature::<OptimizeSettings>();
    if own.is_on.is_none() {
        return;
    }
    // The words were checked when they were parsed.
    let filters = own.filters.iter().fold(FilterSet::safe(), |set, word| set.adjusted(word).unwrap_or(set));
    let mut exclude = Exclusions::default();
    for word in &own.exclude {
        let _ = exclude.add(word);
    }
    let rules = OptimizeRules {
        options: OptimizeOptions { limits: OptimizeLimits::default(), filters, exclude, marker: None },
        adds_policy: POLICY_FIELDS.iter().any(|name| headers::names(settings, name)),
        budget_ppm: own.budget_ppm,
    };
    #[cfg(feature = "image")]
    super::image_copies::compile(compiler, settings, &rules.options, rules.budget_ppm, features);
    #[cfg(not(feature = "image"))]
    let _ = compiler;
    features.insert(rules);
}

/// Returns a number that identifies the settings of the optimizer at a level, except the budget; 0 if it is off.
pub fn settings_id(settings: &Settings) -> u64 {
    let own = settings.feature::<OptimizeSettings>();
    if own.is_on.is_none() {
        return 0;
    }
    let mut hash = Xxh3Default::new();
    for word in own.filters.iter().chain(["\0"].map(str::to_owned).iter()).chain(&own.exclude) {
        hash.write(word.as_bytes());
        hash.write(b"\0");
    }
    hash.write(&[POLICY_FIELDS.iter().any(|name| headers::names(settings, name)).into()]);
    hash.digest().max(1)
}
