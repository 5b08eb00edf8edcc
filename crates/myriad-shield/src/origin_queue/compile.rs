//! The directives of a place, compiled.

use std::sync::Arc;

use myriad_conf::settings::Settings;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;

use super::queue::{Queue, named};
use super::settings::{QueueRules, QueueSettings};

/// The queue before the origin of a place.
pub(super) struct OriginQueue {
    pub queue: Arc<Queue>,
    pub rules: QueueRules,
    /// `origin_priority`.
    pub priority: Option<Template>,
}

/// Keeps the queue of a place that has one.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let settings = settings.feature::<QueueSettings>();
    if let Some(rules) = &settings.queue {
        let priority = settings.priority.as_ref().map(|text| compiler.apart_template(text));
        features.keep(OriginQueue { queue: named(&rules.zone), rules: rules.clone(), priority });
    }
}
