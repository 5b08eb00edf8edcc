//! Configurations that a reload replaced, which are retained until no connection uses them.

use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::streams::StreamRuntime;
use myriad_exchange::runtime::Runtime;
use parking_lot::{Condvar, Mutex};

use crate::temporary_thread::release_memory_soon;

/// Minimum interval at which replaced configurations are checked. The interval is an eighth of the time since the
/// newest reload: connections may continue for hours, and freeing an unused configuration is not urgent.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum interval at which replaced configurations are checked.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Function called when the last request that used a replaced configuration is finished.
pub(super) type DrainedCallback = Box<dyn FnOnce() + Send>;

/// Configuration that a reload replaced but requests may still use.
struct ReplacedConfig {
    runtime: Arc<Runtime>,
    streams: Option<Arc<StreamRuntime>>,
    drained: DrainedCallback,
    since: Instant,
}

impl ReplacedConfig {
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.runtime) > 1
            || self.streams.as_ref().is_some_and(|streams| Arc::strong_count(streams) > 1)
    }
}

#[derive(Default)]
struct ReplacedList {
    replaced: Vec<ReplacedConfig>,
    /// True while a thread checks whether configurations in the list are still in use.
    is_watched: bool,
}

impl ReplacedList {
    /// Returns the time until the next check: an eighth of the time since the newest configuration in the list was
    /// replaced, between [`MIN_CHECK_INTERVAL`] and [`MAX_CHECK_INTERVAL`]. The newest one most likely becomes unused
    /// first.
    fn check_interval(&self) -> Duration {
        let newest = self.replaced.last().map_or(Duration::ZERO, |one| one.since.elapsed());
        (newest / 8).clamp(MIN_CHECK_INTERVAL, MAX_CHECK_INTERVAL)
    }
}

/// List of all replaced configurations that are still in use. A single thread checks them, and exits when the list is
/// empty.
#[derive(Clone, Default)]
pub(super) struct ReplacedConfigs(Arc<(Mutex<ReplacedList>, Condvar)>);

impl ReplacedConfigs {
    /// Adds a replaced configuration. When it is no longer used, `drained` is called and its memory is returned to the
    /// system.
    pub(super) fn add(
        &self,
        runtime: Arc<Runtime>,
        streams: Option<Arc<StreamRuntime>>,
        drained: DrainedCallback,
    ) {
        let (all, more) = &*self.0;
        let mut all = all.lock();
        all.replaced.push(ReplacedConfig { runtime, streams, drained, since: Instant::now() });
        // The thread may be in a long pause, which was based on an older configuration.
        more.notify_one();
        if !all.is_watched {
            let watched = self.clone();
            // If the thread cannot be created, the next reload tries again.
            all.is_watched =
                Builder::new().name("replaced".to_owned()).spawn(move || watched.free_unused()).is_ok();
        }
    }

    fn free_unused(&self) {
        let (all, more) = &*self.0;
        loop {
            let mut all = all.lock();
            let pause = all.check_interval();
            more.wait_for(&mut all, pause);
            let over: Vec<_> = all.replaced.extract_if(.., |one| !one.is_used()).collect();
            let is_last = all.replaced.is_empty();
            all.is_watched = !is_last;
            drop(all);
            if !over.is_empty() {
                for one in over {
                    drop((one.runtime, one.streams));
                    (one.drained)();
                }
                release_memory_soon();
            }
            if is_last {
                return;
            }
        }
    }
}
