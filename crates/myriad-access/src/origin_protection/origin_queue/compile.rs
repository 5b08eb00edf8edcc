//! Compilation of `origin_queue` and `origin_priority`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use myriad_conf::settings::Settings;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;

use super::queue::{OriginRequestQueue, queue_named};
use super::settings::{OriginQueueRules, QueueSettings};

/// Queue before the origin of a location, and the location's settings for it.
pub(super) struct OriginQueue {
    pub queue: Arc<OriginRequestQueue>,
    pub rules: OriginQueueRules,
    /// `origin_priority`: text that evaluates to the class of a request; `None` for `normal`.
    pub priority: Option<Template>,
    /// Set once a worker watches the php-fpm pool of the origin (`status=`).
    watched: AtomicBool,
}

impl OriginQueue {
    /// Returns true for the first call only: this caller must watch the pool.
    pub(super) fn begin_watching(&self) -> bool {
        !self.watched.swap(true, Relaxed)
    }
}

/// Stores the queue of a location with `origin_queue` in `features`.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let settings = settings.feature::<QueueSettings>();
    if let Some(rules) = &settings.queue {
        let priority = settings.priority.as_ref().map(|text| compiler.origin_template(text));
        features.insert(OriginQueue {
            queue: queue_named(&rules.zone),
            rules: rules.clone(),
            priority,
            watched: AtomicBool::new(false),
        });
    }
}
