//! Configurations that were replaced: watched until nobody uses them any more.

use std::sync::Arc;
use std::thread::Builder;
use std::time::{Duration, Instant};

use myriad_exchange::runtime::Runtime;
use myriad_stream::StreamRuntime;
use parking_lot::{Condvar, Mutex};

use crate::apart::give_back_soon;

/// How long after a reload its configuration is looked at again: an eighth of the time since, within these bounds. Connections may
/// go on for hours, and nobody waits for the end of one that has.
const SOONEST: Duration = Duration::from_millis(10);
const LATEST: Duration = Duration::from_secs(1);

/// Called when the last exchange of a configuration that was replaced has ended.
pub(super) type Drained = Box<dyn FnOnce() + Send>;

/// One of them.
struct Replaced {
    runtime: Arc<Runtime>,
    streams: Option<Arc<StreamRuntime>>,
    drained: Drained,
    since: Instant,
}

impl Replaced {
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.runtime) > 1
            || self.streams.as_ref().is_some_and(|streams| Arc::strong_count(streams) > 1)
    }
}

#[derive(Default)]
struct All {
    replaced: Vec<Replaced>,
    /// Whether a thread looks at them.
    is_watched: bool,
}

impl All {
    /// Until when to rest: the newest is what is most likely to end.
    fn pause(&self) -> Duration {
        let newest = self.replaced.last().map_or(Duration::ZERO, |one| one.since.elapsed());
        (newest / 8).clamp(SOONEST, LATEST)
    }
}

/// All of them. While there is one, a thread looks at them; of reloads that follow each other quickly it is the same.
#[derive(Clone, Default)]
pub(super) struct Watched(Arc<(Mutex<All>, Condvar)>);

impl Watched {
    /// Watches one more. Its memory goes back to the system at its end.
    pub(super) fn add(&self, runtime: Arc<Runtime>, streams: Option<Arc<StreamRuntime>>, drained: Drained) {
        let (all, more) = &*self.0;
        let mut all = all.lock();
        all.replaced.push(Replaced { runtime, streams, drained, since: Instant::now() });
        // It may rest for long on account of an older one.
        more.notify_one();
        if !all.is_watched {
            let watched = self.clone();
            // Where no thread can be had, the next reload asks for one.
            all.is_watched =
                Builder::new().name("replaced".to_owned()).spawn(move || watched.watch()).is_ok();
        }
    }

    fn watch(&self) {
        let (all, more) = &*self.0;
        loop {
            let mut all = all.lock();
            let pause = all.pause();
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
                give_back_soon();
            }
            if is_last {
                return;
            }
        }
    }
}
