//! Thread that watches the memory of the process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use myriad_base::memory::{Cap, Ladder, Stage, recap};
use myriad_conf::model::MemoryLimit;
use myriad_encode::Pool;
use myriad_exchange::pressure::Pressure;
use myriad_exchange::runtime::Runtime;
use myriad_files::FileCache;
use myriad_log::Level;
use myriad_store::page::PageMeta;
use myriad_store::{DiskPool, Zone};
use parking_lot::{Condvar, Mutex};
use tokio::sync::mpsc as channel;

use super::tell::{Beside, Teller, mib};
use crate::machine::{self, Resident};
use crate::site::orders::Order;

/// Interval of checks while less than [`FAR`] percent of the limit is in use.
const CALM: Duration = Duration::from_secs(1);
/// Interval above that, and while zones shrink: the system gets their freed memory after some tenths of a second.
const NEAR: Duration = Duration::from_millis(250);
/// Interval while shrinking zones is not sufficient, or above the limit.
const SHORT: Duration = Duration::from_millis(100);
/// Percentage of the limit above which memory is checked more often.
const FAR: u64 = 60;
/// Divisor of the limit for pages that wait to be written; at least [`LEAST_WRITES`] bytes may wait.
const WRITES_PART: u64 = 16;
const LEAST_WRITES: u64 = 8 << 20;
/// Divisor of the memory in use for the minimum size that zones must be able to free, to make waiting for it
/// worthwhile.
const SPARE_PART: u64 = 32;
/// Number of keys that a zone evicts before the thread yields: some hundred microseconds.
const EVICTED_AT_ONCE: usize = 256;
/// Number of successive failed measurements after which the limit is no longer enforced; otherwise the last stage would
/// persist.
const BLIND_LOOKS: u32 = 10;

/// Watched resources. They survive reloads.
pub(in crate::site) struct Subject {
    /// Published stage.
    pub pressure: Arc<Pressure>,
    /// Small files.
    pub files: Arc<FileCache>,
    /// Background compression.
    pub encoder: Arc<Pool>,
    /// Disk threads.
    pub disks: DiskPool,
    /// Senders of orders to the workers.
    pub workers: Vec<channel::UnboundedSender<Order>>,
}

/// Handle of the thread.
pub(in crate::site) struct Watching {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    now: Mutex<Now>,
    changed: Condvar,
}

/// Current configuration.
struct Now {
    runtime: Arc<Runtime>,
    limit: Option<u64>,
    ends: bool,
    /// Set until the thread has applied the configuration.
    is_news: bool,
}

impl Watching {
    /// Starts the thread. If the kernel does not report the memory in use, the limit is not enforced and a message is
    /// logged.
    pub(in crate::site) fn begin(
        subject: Subject,
        runtime: &Arc<Runtime>,
        limit: MemoryLimit,
    ) -> std::io::Result<Self> {
        let now =
            Now { runtime: Arc::clone(runtime), limit: in_bytes(limit, runtime), ends: false, is_news: true };
        let shared = Arc::new(Shared { now: Mutex::new(now), changed: Condvar::new() });
        let files = Arc::clone(&subject.files);
        subject.pressure.count("files", move || files.bytes() as u64);
        let disks = subject.disks.clone();
        subject.pressure.count("disk_writes", move || disks.write_bytes() as u64);
        subject.pressure.count("tls_sessions", myriad_tls::session_bytes);
        subject
            .pressure
            .measured_by(|| Resident::open().and_then(|mut resident| resident.bytes()).unwrap_or(0));
        let resident = Resident::open().and_then(|mut resident| resident.bytes().map(|_| resident));
        let resident = match resident {
            Ok(resident) => resident,
            Err(error) => {
                if limit != MemoryLimit::Off {
                    log_blind(runtime, &error);
                }
                return Ok(Self { shared, thread: None });
            }
        };
        let of_thread = Arc::clone(&shared);
        let log = runtime.zone_log.clone();
        let thread = std::thread::Builder::new().name("memory".into()).spawn(move || {
            let mut watch = Watch::new(subject, resident);
            if catch_unwind(AssertUnwindSafe(|| watch.run(&of_thread))).is_err() {
                watch.let_go(&of_thread.now.lock().runtime.clone());
                log.write(
                    Level::Alert,
                    None,
                    format_args!("panic in the monitor of \"memory_limit\": memory is not limited until the next restart"),
                );
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Applies the limit of another configuration.
    pub(in crate::site) fn follow(&self, runtime: &Arc<Runtime>, limit: MemoryLimit) {
        let limit = in_bytes(limit, runtime);
        if self.thread.is_none() && limit.is_some() {
            log_blind(runtime, &"\"/proc/self/status\" could not be read since the start");
        }
        let former = {
            let mut now = self.shared.now.lock();
            (now.limit, now.is_news) = (limit, true);
            std::mem::replace(&mut now.runtime, Arc::clone(runtime))
        };
        drop(former);
        self.shared.changed.notify_one();
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.shared.now.lock().ends = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}

/// Returns the limit in bytes. Logs a message if it differs from the configured value.
fn in_bytes(limit: MemoryLimit, runtime: &Runtime) -> Option<u64> {
    let memory = machine::memory();
    let bytes = limit.of(memory)?;
    if let MemoryLimit::Bytes(written) = limit
        && written > bytes
    {
        let text = format_args!(
            "\"memory_limit\" of {} MB exceeds the available memory: the limit is {} MB",
            mib(written),
            mib(bytes),
        );
        runtime.zone_log.write(Level::Warn, None, text);
    }
    Some(bytes)
}

/// Logs that the limit is not enforced because the memory in use is unknown.
fn log_blind(runtime: &Runtime, error: &dyn std::fmt::Display) {
    let text = format_args!(
        "\"memory_limit\" is not enforced, the memory in use is unknown: {error}; allow the process to read /proc"
    );
    runtime.zone_log.write(Level::Error, None, text);
}

struct Watch {
    subject: Subject,
    resident: Resident,
    /// Memory in use at the last check, in bytes.
    used: u64,
    ladder: Ladder,
    teller: Teller,
    beside: Beside,
    /// Set if the last round evicted nothing although zones exceed their limits: bodies in transit, which zones cannot
    /// evict.
    is_stuck: bool,
    /// Number of successive failed measurements.
    blind: u32,
}

impl Watch {
    fn new(subject: Subject, resident: Resident) -> Self {
        Self {
            subject,
            resident,
            used: 0,
            ladder: Ladder::default(),
            teller: Teller::default(),
            beside: Beside::default(),
            is_stuck: false,
            blind: 0,
        }
    }

    fn run(&mut self, shared: &Shared) {
        loop {
            let (runtime, limit) = {
                let mut now = shared.now.lock();
                let pause = match (now.limit, self.ladder.stage()) {
                    (None, _) => None,
                    (Some(limit), Stage::Normal) if self.used / FAR < limit / 100 => Some(CALM),
                    (Some(limit), Stage::Shrinking) if self.used >= limit => Some(SHORT),
                    (Some(_), Stage::Normal | Stage::Shrinking) => Some(NEAR),
                    (Some(_), Stage::Closing | Stage::Refusing) => Some(SHORT),
                };
                if !now.ends && !now.is_news {
                    match pause {
                        None => shared.changed.wait(&mut now),
                        Some(pause) => _ = shared.changed.wait_for(&mut now, pause),
                    }
                }
                if now.ends {
                    break;
                }
                if std::mem::take(&mut now.is_news) {
                    (self.beside, self.blind) = (Beside::default(), 0);
                }
                (Arc::clone(&now.runtime), now.limit)
            };
            self.look(&runtime, limit);
        }
    }

    /// Checks once, and takes the measures of the stage.
    fn look(&mut self, runtime: &Runtime, limit: Option<u64>) {
        let resident = match self.resident.bytes() {
            Ok(resident) => resident,
            Err(error) => return self.look_blindly(runtime, limit, &error),
        };
        self.blind = 0;
        self.used = resident;
        let caps = caps(runtime);
        let held = caps.iter().map(|(_, cap)| cap.used).sum::<u64>();
        let stage = self.stage(&caps, resident, limit);
        let before = self.subject.pressure.note(limit, stage);
        let most = limit.map_or(usize::MAX, |limit| (limit / WRITES_PART).max(LEAST_WRITES) as usize);
        self.subject.disks.bound_writes(most);
        let gone = self.bound_zones(&caps, stage, resident, limit);
        if let Some(line) = self.beside.line(resident.saturating_sub(held), limit, gone == 0) {
            runtime.zone_log.write(Level::Warn, None, format_args!("{line}"));
        }
        if stage != before {
            self.subject.encoder.rest(stage >= Stage::Closing);
            match stage {
                Stage::Normal => self.subject.files.keep_part(1, 1),
                Stage::Shrinking => self.subject.files.keep_part(1, 4),
                Stage::Closing | Stage::Refusing => self.subject.files.keep_part(0, 1),
            }
        }
        if stage > Stage::Normal {
            self.subject.files.sweep(myriad_net::clock::now_ms());
            self.subject.disks.take_in();
            self.subject.encoder.take_in();
            myriad_base::memory::give_back();
        }
        if stage != before || stage > Stage::Normal {
            for worker in &self.subject.workers {
                // A worker that has exited uses no memory.
                let _ = worker.send(Order::Relieve(stage));
            }
        }
        if stage != before {
            let sums = self.subject.pressure.sums(resident);
            let line = self.teller.line(before, &sums, myriad_net::clock::monotonic_ms());
            if let Some((warns, line)) = line {
                let level = if warns { Level::Warn } else { Level::Notice };
                runtime.zone_log.write(level, None, format_args!("{line}"));
            }
        }
    }

    /// Handles a failed measurement: for [`BLIND_LOOKS`] checks nothing changes.
    fn look_blindly(&mut self, runtime: &Runtime, limit: Option<u64>, error: &std::io::Error) {
        self.blind = self.blind.saturating_add(1);
        if self.blind == BLIND_LOOKS && limit.is_some() {
            log_blind(runtime, error);
            self.let_go(runtime);
            (self.ladder, self.used, self.is_stuck) = (Ladder::default(), 0, false);
        }
    }

    /// Returns the stage for the memory in use.
    fn stage(&mut self, zones: &[(&PageStore, Cap)], resident: u64, limit: Option<u64>) -> Stage {
        let spare: u64 = zones.iter().map(|(_, cap)| cap.spare()).sum();
        let can_shrink = spare > resident / SPARE_PART && !self.is_stuck;
        self.ladder.observe(resident, limit.unwrap_or(0), can_shrink)
    }

    /// Updates the limits of zones and evicts the excess. Returns the number of evicted keys.
    fn bound_zones(
        &mut self,
        zones: &[(&PageStore, Cap)],
        stage: Stage,
        resident: u64,
        limit: Option<u64>,
    ) -> usize {
        let mut all_gone = 0;
        let mut caps: Vec<_> = zones.iter().map(|(_, cap)| *cap).collect();
        recap(&mut caps, stage, resident, limit.unwrap_or(0));
        for ((zone, _), cap) in zones.iter().zip(caps) {
            let most = if cap.now >= cap.configured { usize::MAX } else { cap.now as usize };
            zone.press(most);
            loop {
                let gone = zone.shrink(EVICTED_AT_ONCE);
                self.subject.pressure.gave_up(gone);
                all_gone += gone;
                if gone < EVICTED_AT_ONCE {
                    break;
                }
                std::thread::yield_now();
            }
        }
        self.is_stuck = all_gone == 0 && zones.iter().any(|(zone, _)| zone.used() > zone.cap());
        all_gone
    }

    /// Removes all limits.
    fn let_go(&self, runtime: &Runtime) {
        self.subject.pressure.note(None, Stage::Normal);
        self.subject.encoder.rest(false);
        self.subject.files.keep_part(1, 1);
        runtime.zones.values().for_each(|zone| zone.zone.press(usize::MAX));
        for worker in &self.subject.workers {
            let _ = worker.send(Order::Relieve(Stage::Normal));
        }
    }
}

/// Store of a zone.
type PageStore = Zone<PageMeta>;

/// Returns the memory used by each zone, and its limits.
fn caps(runtime: &Runtime) -> Vec<(&PageStore, Cap)> {
    let cap = |zone: &PageStore| Cap {
        used: zone.used() as u64,
        configured: zone.limits().memory_bytes as u64,
        now: zone.cap() as u64,
    };
    runtime.zones.values().map(|zone| (&zone.zone, cap(&zone.zone))).collect()
}

#[cfg(test)]
mod tests;
