//! The directives of a place, compiled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

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
    /// Whether a worker watches the pool of its origin.
    watched: AtomicBool,
}

impl OriginQueue {
    /// Whether whoever asks is the one that is to watch the pool.
    pub(super) fn begin_watching(&self) -> bool {
        !self.watched.swap(true, Relaxed)
    }
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
        features.keep(OriginQueue {
            queue: named(&rules.zone),
            rules: rules.clone(),
            priority,
            watched: AtomicBool::new(false),
        });
    }
}
