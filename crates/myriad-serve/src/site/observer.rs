//! Observer thread of the site: publishes live events every second while they are read, and records a step of the
//! history every ten seconds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use myriad_admin::monitoring::SightObserver;
use myriad_exchange::observation::{ObserverWake, SiteObservation};
use myriad_exchange::ranking::history::{History, LENGTHS};
use myriad_exchange::runtime::Runtime;
use myriad_log::{ErrorLog, LogLevel};
use parking_lot::Mutex;

use super::history_file::{HistoryFile, HistoryStorage};

/// Interval at which live events are published.
const TICK: Duration = Duration::from_secs(1);

/// Handle of the observer thread, which publishes live events and records the history; it is stopped when the handle is
/// dropped.
pub(super) struct ObserverHandle {
    sight: Arc<SiteObservation>,
    config: Arc<Mutex<ObservedConfig>>,
    thread: Option<JoinHandle<()>>,
}

/// Configuration whose traffic the observer thread reports.
struct ObservedConfig {
    runtime: Arc<Runtime>,
    storage: HistoryStorage,
}

impl ObserverHandle {
    /// Starts the observer thread. The history file is loaded before this returns. Fails if the thread cannot be
    /// started.
    pub(super) fn begin(
        sight: Arc<SiteObservation>,
        runtime: &Arc<Runtime>,
        storage: HistoryStorage,
    ) -> std::io::Result<Self> {
        let now = Arc::new(Mutex::new(ObservedConfig { runtime: Arc::clone(runtime), storage }));
        let observer = SightObserver::new(Arc::clone(&sight), runtime);
        let log = runtime.zone_log.clone();
        let mut worker = ObserverThread {
            sight: Arc::clone(&sight),
            config: Arc::clone(&now),
            observer,
            log: log.clone(),
            history: HistoryState::default(),
        };
        // The history is loaded before the first request, so that it is available to readers.
        worker.update_history_file();
        let thread = std::thread::Builder::new().name("observer".into()).spawn(move || {
            let readers = Arc::clone(&worker.sight);
            if catch_unwind(AssertUnwindSafe(|| worker.run())).is_err() {
                readers.live.end_readers();
                log.write(
                    LogLevel::Alert,
                    None,
                    format_args!(
                        "panic in the observer: the dashboard shows no new events and stores no history until the next restart; requests \
                             are still served"
                    ),
                );
            }
        })?;
        Ok(Self { sight, config: now, thread: Some(thread) })
    }

    /// Returns the data that the observer thread publishes.
    pub(super) fn sight(&self) -> &Arc<SiteObservation> {
        &self.sight
    }

    /// Switches to another configuration, and counts the reload. Readers of live events are disconnected, and are
    /// expected to reconnect.
    pub(super) fn apply_config(&self, runtime: &Arc<Runtime>, storage: HistoryStorage) {
        *self.config.lock() = ObservedConfig { runtime: Arc::clone(runtime), storage };
        self.sight.reloads.fetch_add(1, Relaxed);
        self.sight.live.end_readers();
    }

    /// Disconnects the readers of live events.
    pub(super) fn end_readers(&self) {
        self.sight.live.end_readers();
    }

    /// Disconnects the readers, and writes the unfinished steps of the history. Another process can then use the file.
    /// Later requests of this process are not in the history. Further calls have no effect.
    pub(super) fn end(&mut self) {
        self.sight.live.end();
        self.sight.live.end_readers();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}

impl Drop for ObserverHandle {
    fn drop(&mut self) {
        self.end();
    }
}

/// State of the observer thread, which publishes live events and records the history.
struct ObserverThread {
    sight: Arc<SiteObservation>,
    config: Arc<Mutex<ObservedConfig>>,
    observer: SightObserver,
    log: ErrorLog,
    history: HistoryState,
}

impl ObserverThread {
    fn run(&mut self) {
        self.update_history_file();
        let mut next_tick = Instant::now();
        let mut next_step = next_step();
        loop {
            let reads = self.sight.live.readers() > 0;
            let until = if reads { next_step.min(next_tick) } else { next_step };
            match self.sight.live.wait(until) {
                ObserverWake::End => break,
                ObserverWake::Reader => next_tick = Instant::now(),
                ObserverWake::Time => {}
            }
            let now = Instant::now();
            if self.sight.live.readers() > 0 && now >= next_tick {
                self.observer.tick(&self.runtime());
                next_tick = now + TICK;
            }
            if now >= next_step {
                self.update_history_file();
                self.record();
                next_step = self::next_step();
            }
        }
        self.record();
    }

    /// Returns the running configuration. The caller must drop it soon, so that a reload can free the previous
    /// configuration.
    fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.config.lock().runtime)
    }

    fn record(&mut self) {
        let written = self.observer.record(&self.runtime());
        if let Some(file) = &mut self.history.file {
            file.write(&written, &self.log);
        }
    }

    /// Applies the `history` setting of the configuration, and tries to open the file if it is not open yet (another
    /// process may have locked it), unless opening it has failed for another reason.
    fn update_history_file(&mut self) {
        let storage = self.config.lock().storage.clone();
        if self.history.storage.as_ref() != Some(&storage) {
            *self.sight.history.lock() = (storage != HistoryStorage::Off).then(History::default);
            self.history = HistoryState { storage: Some(storage.clone()), ..HistoryState::default() };
        }
        let HistoryStorage::At(path) = storage else { return };
        if self.history.file.is_some() || self.history.has_failed {
            return;
        }
        match HistoryFile::open(&path, &self.log) {
            Ok(Some((mut file, mut history))) => {
                let mut own = self.sight.history.lock();
                let written = own.as_ref().map_or_else(Vec::new, |own| history.adopt(own));
                file.write(&written, &self.log);
                *own = Some(history);
                self.history.file = Some(file);
            }
            Ok(None) => {}
            Err(error) => {
                self.history.has_failed = true;
                let text = format_args!(
                    "the history \"{}\" is stored in memory only: {error}; set \"history\" to another file, or to \"off\"",
                    path.display()
                );
                self.log.write(LogLevel::Warn, None, text);
            }
        }
    }
}

/// State of the history file and its setting.
#[derive(Default)]
struct HistoryState {
    /// Setting that was last applied; `None` before the first configuration.
    storage: Option<HistoryStorage>,
    file: Option<HistoryFile>,
    /// True if the history file cannot be opened; the error has been logged.
    has_failed: bool,
}

/// Returns the time at which the current step of the traffic history with the shortest steps is complete.
fn next_step() -> Instant {
    let length_ms = LENGTHS[0].0;
    Instant::now() + Duration::from_millis(length_ms - myriad_net::clock::wall_ms() % length_ms)
}
