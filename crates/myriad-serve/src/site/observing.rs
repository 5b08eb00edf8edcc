//! Observer thread of the running site: a tick every second while there are readers, a step of the history every ten
//! seconds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use myriad_admin::sight::Observer;
use myriad_exchange::ranking::history::{History, LENGTHS};
use myriad_exchange::runtime::Runtime;
use myriad_exchange::sight::{Sight, Wake};
use myriad_log::{ErrorLog, Level};
use parking_lot::Mutex;

use super::history_file::{HistoryFile, Kept};

/// Interval of ticks.
const TICK: Duration = Duration::from_secs(1);

/// Handle of the thread.
pub(super) struct Observing {
    sight: Arc<Sight>,
    now: Arc<Mutex<Now>>,
    thread: Option<JoinHandle<()>>,
}

/// Current configuration.
struct Now {
    runtime: Arc<Runtime>,
    kept: Kept,
}

impl Observing {
    /// Starts the thread.
    pub(super) fn begin(sight: Arc<Sight>, runtime: &Arc<Runtime>, kept: Kept) -> std::io::Result<Self> {
        let now = Arc::new(Mutex::new(Now { runtime: Arc::clone(runtime), kept }));
        let observer = Observer::new(Arc::clone(&sight), runtime);
        let log = runtime.zone_log.clone();
        let mut life = Life {
            sight: Arc::clone(&sight),
            now: Arc::clone(&now),
            observer,
            log: log.clone(),
            keeping: Keeping::default(),
        };
        // The history is loaded before the first request, so that it is available to readers.
        life.keep();
        let thread = std::thread::Builder::new().name("observer".into()).spawn(move || {
            let readers = Arc::clone(&life.sight);
            if catch_unwind(AssertUnwindSafe(|| life.run())).is_err() {
                readers.live.end_readers();
                log.write(
                    Level::Alert,
                    None,
                    format_args!(
                        "panic in the observer: the dashboard shows no new events and stores no history until the next restart; requests \
                             are still served"
                    ),
                );
            }
        })?;
        Ok(Self { sight, now, thread: Some(thread) })
    }

    /// Returns the observed data.
    pub(super) fn sight(&self) -> &Arc<Sight> {
        &self.sight
    }

    /// Switches to another configuration. Readers of events are disconnected and reconnect.
    pub(super) fn follow(&self, runtime: &Arc<Runtime>, kept: Kept) {
        *self.now.lock() = Now { runtime: Arc::clone(runtime), kept };
        self.sight.reloads.fetch_add(1, Relaxed);
        self.sight.live.end_readers();
    }

    /// Disconnects the readers, and writes the unfinished steps. Another process can use the file afterwards.
    pub(super) fn end(&mut self) {
        self.sight.live.end();
        self.sight.live.end_readers();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        self.end();
    }
}

/// State of the thread.
struct Life {
    sight: Arc<Sight>,
    now: Arc<Mutex<Now>>,
    observer: Observer,
    log: ErrorLog,
    keeping: Keeping,
}

impl Life {
    fn run(&mut self) {
        self.keep();
        let mut next_tick = Instant::now();
        let mut next_step = next_step();
        loop {
            let reads = self.sight.live.readers() > 0;
            let until = if reads { next_step.min(next_tick) } else { next_step };
            match self.sight.live.wait(until) {
                Wake::End => break,
                Wake::Reader => next_tick = Instant::now(),
                Wake::Time => {}
            }
            let now = Instant::now();
            if self.sight.live.readers() > 0 && now >= next_tick {
                self.observer.tick(&self.runtime());
                next_tick = now + TICK;
            }
            if now >= next_step {
                self.keep();
                self.record();
                next_step = self::next_step();
            }
        }
        self.record();
    }

    /// Returns the running configuration. The reference is retained only while it is observed, so that a reload can
    /// free the previous configuration.
    fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&self.now.lock().runtime)
    }

    fn record(&mut self) {
        let written = self.observer.record(&self.runtime());
        if let Some(file) = &mut self.keeping.file {
            file.write(&written, &self.log);
        }
    }

    /// Applies the history settings of the configuration, and opens the file as soon as no other process has locked it.
    fn keep(&mut self) {
        let kept = self.now.lock().kept.clone();
        if self.keeping.kept.as_ref() != Some(&kept) {
            *self.sight.history.lock() = (kept != Kept::Off).then(History::default);
            self.keeping = Keeping { kept: Some(kept.clone()), ..Keeping::default() };
        }
        let Kept::At(path) = kept else { return };
        if self.keeping.file.is_some() || self.keeping.has_failed {
            return;
        }
        match HistoryFile::open(&path, &self.log) {
            Ok(Some((mut file, mut history))) => {
                let mut own = self.sight.history.lock();
                let written = own.as_ref().map_or_else(Vec::new, |own| history.adopt(own));
                file.write(&written, &self.log);
                *own = Some(history);
                self.keeping.file = Some(file);
            }
            Ok(None) => {}
            Err(error) => {
                self.keeping.has_failed = true;
                let text = format_args!(
                    "the history \"{}\" is stored in memory only: {error}; set \"history\" to another file, or to \"off\"",
                    path.display()
                );
                self.log.write(Level::Warn, None, text);
            }
        }
    }
}

/// File of the history.
#[derive(Default)]
struct Keeping {
    /// Setting for which the file was opened.
    kept: Option<Kept>,
    file: Option<HistoryFile>,
    /// Set if the file cannot be opened; the error has been logged.
    has_failed: bool,
}

/// Returns the time at which the current step is complete.
fn next_step() -> Instant {
    let length_ms = LENGTHS[0].0;
    Instant::now() + Duration::from_millis(length_ms - myriad_net::clock::wall_ms() % length_ms)
}
