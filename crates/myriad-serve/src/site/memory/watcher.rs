//! Thread that measures the memory of the process and enforces `memory_limit`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use myriad_base::memory::{PressureStage, PressureTracker, ZoneMemory, update_limits};
use myriad_conf::model::MemoryLimit;
use myriad_encode::CompressionPool;
use myriad_exchange::pressure::Pressure;
use myriad_exchange::runtime::Runtime;
use myriad_files::FileCache;
use myriad_log::LogLevel;
use myriad_store::page::PageMeta;
use myriad_store::{DiskPool, Zone};
use parking_lot::{Condvar, Mutex};
use tokio::sync::mpsc as channel;

use super::stage_logger::{NonZoneMemoryWarning, StageLogger, mib};
use crate::machine::{self, ResidentMemory};
use crate::site::worker_command::WorkerCommand;

/// Interval of memory checks while less than [`FREQUENT_CHECK_PERCENT`] percent of `memory_limit` is in use and no
/// cache zone shrinks.
const CALM_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of memory checks while at least [`FREQUENT_CHECK_PERCENT`] percent of `memory_limit` are in use, or cache
/// zones shrink, unless [`SHORT_INTERVAL`] applies.
const NEAR_LIMIT_INTERVAL: Duration = Duration::from_millis(250);
/// Interval of memory checks above `memory_limit`, and while shrinking cache zones is not sufficient.
const SHORT_INTERVAL: Duration = Duration::from_millis(100);
/// Percentage of `memory_limit` from which on the memory in use is checked more often.
const FREQUENT_CHECK_PERCENT: u64 = 60;
/// Divisor of `memory_limit` that gives the maximum size of pages waiting to be written to disk; at least
/// [`MIN_WRITE_BYTES`] may wait.
const WRITES_DIVISOR: u64 = 16;
const MIN_WRITE_BYTES: u64 = 8 << 20;
/// Divisor of the memory in use that gives the minimum size that cache zones must be able to free: below it, waiting
/// for zones is not worthwhile.
const SPARE_DIVISOR: u64 = 32;
/// Number of cache keys that a zone evicts before the thread yields.
const EVICTED_AT_ONCE: usize = 256;
/// Number of successive failed measurements of the memory in use after which the limit is no longer enforced. Without
/// this bound, the last stage of memory pressure would persist.
const MAX_FAILED_MEASUREMENTS: u32 = 10;

/// Resources that the memory watcher thread watches and controls. They survive reloads.
pub(in crate::site) struct WatchedResources {
    /// Memory pressure published to all threads.
    pub pressure: Arc<Pressure>,
    /// Cache of path states, file contents and open files.
    pub files: Arc<FileCache>,
    /// Threads of background compression.
    pub encoder: Arc<CompressionPool>,
    /// Threads that read and write the files of cache zones.
    pub disks: DiskPool,
    /// Senders of commands to the workers, such as to free idle memory.
    pub workers: Vec<channel::UnboundedSender<WorkerCommand>>,
}

/// Handle of the memory watcher thread, which is stopped when the handle is dropped.
pub(in crate::site) struct MemoryWatcherHandle {
    shared: Arc<MemoryWatcherShared>,
    thread: Option<JoinHandle<()>>,
}

struct MemoryWatcherShared {
    config: Mutex<WatchedConfig>,
    changed: Condvar,
}

/// Configuration whose `memory_limit` the thread enforces.
struct WatchedConfig {
    runtime: Arc<Runtime>,
    limit: Option<u64>,
    is_ending: bool,
    /// True from a change of the configuration until the thread has applied it.
    has_changed: bool,
}

impl MemoryWatcherHandle {
    /// Starts the memory watcher thread. If the memory in use cannot be read, starts no thread and logs that the limit
    /// is not enforced (unless it is off). Fails if the thread cannot be started.
    pub(in crate::site) fn begin(
        subject: WatchedResources,
        runtime: &Arc<Runtime>,
        limit: MemoryLimit,
    ) -> std::io::Result<Self> {
        let now = WatchedConfig {
            runtime: Arc::clone(runtime),
            limit: limit_in_bytes(limit, runtime),
            is_ending: false,
            has_changed: true,
        };
        let shared = Arc::new(MemoryWatcherShared { config: Mutex::new(now), changed: Condvar::new() });
        let files = Arc::clone(&subject.files);
        subject.pressure.register_part("files", move || files.bytes() as u64);
        let disks = subject.disks.clone();
        subject.pressure.register_part("disk_writes", move || disks.write_bytes() as u64);
        subject.pressure.register_part("tls_sessions", myriad_tls::session_bytes);
        subject
            .pressure
            .set_measure(|| ResidentMemory::open().and_then(|mut resident| resident.bytes()).unwrap_or(0));
        let resident = ResidentMemory::open().and_then(|mut resident| resident.bytes().map(|_| resident));
        let resident = match resident {
            Ok(resident) => resident,
            Err(error) => {
                if limit != MemoryLimit::Off {
                    log_unknown_usage(runtime, &error);
                }
                return Ok(Self { shared, thread: None });
            }
        };
        let of_thread = Arc::clone(&shared);
        let log = runtime.zone_log.clone();
        let thread = std::thread::Builder::new().name("memory".into()).spawn(move || {
            let mut watch = MemoryWatcher::new(subject, resident);
            if catch_unwind(AssertUnwindSafe(|| watch.run(&of_thread))).is_err() {
                watch.remove_limits(&of_thread.config.lock().runtime.clone());
                log.write(
                    LogLevel::Alert,
                    None,
                    format_args!("panic in the monitor of \"memory_limit\": memory is not limited until the next restart"),
                );
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Applies the `memory_limit` of a new configuration; without a watcher thread, logs that it is not enforced.
    pub(in crate::site) fn apply_config(&self, runtime: &Arc<Runtime>, limit: MemoryLimit) {
        let limit = limit_in_bytes(limit, runtime);
        if self.thread.is_none() && limit.is_some() {
            log_unknown_usage(runtime, &"\"/proc/self/status\" could not be read since the start");
        }
        let former = {
            let mut now = self.shared.config.lock();
            (now.limit, now.has_changed) = (limit, true);
            std::mem::replace(&mut now.runtime, Arc::clone(runtime))
        };
        drop(former);
        self.shared.changed.notify_one();
    }
}

impl Drop for MemoryWatcherHandle {
    fn drop(&mut self) {
        self.shared.config.lock().is_ending = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}

/// Returns `memory_limit` in bytes; `None` without a limit. Logs a message if a configured number of bytes exceeds the
/// available memory.
fn limit_in_bytes(limit: MemoryLimit, runtime: &Runtime) -> Option<u64> {
    let memory = machine::available_memory();
    let bytes = limit.of(memory)?;
    if let MemoryLimit::Bytes(written) = limit
        && written > bytes
    {
        let text = format_args!(
            "\"memory_limit\" of {} MB exceeds the available memory: the limit is {} MB",
            mib(written),
            mib(bytes),
        );
        runtime.zone_log.write(LogLevel::Warn, None, text);
    }
    Some(bytes)
}

/// Logs that `memory_limit` is not enforced because the memory in use is unknown.
fn log_unknown_usage(runtime: &Runtime, error: &dyn std::fmt::Display) {
    let text = format_args!(
        "\"memory_limit\" is not enforced, the memory in use is unknown: {error}; allow the process to read /proc"
    );
    runtime.zone_log.write(LogLevel::Error, None, text);
}

struct MemoryWatcher {
    subject: WatchedResources,
    resident: ResidentMemory,
    /// Memory of the process in use at the last check, in bytes.
    used: u64,
    ladder: PressureTracker,
    stage_logger: StageLogger,
    non_zone_warning: NonZoneMemoryWarning,
    /// True if the last check evicted nothing although zones exceed their limits, for instance because bodies
    /// still being transferred cannot be evicted.
    is_stuck: bool,
    /// Number of successive failed measurements of the memory in use.
    failed_measurements: u32,
}

impl MemoryWatcher {
    fn new(subject: WatchedResources, resident: ResidentMemory) -> Self {
        Self {
            subject,
            resident,
            used: 0,
            ladder: PressureTracker::default(),
            stage_logger: StageLogger::default(),
            non_zone_warning: NonZoneMemoryWarning::default(),
            is_stuck: false,
            failed_measurements: 0,
        }
    }

    fn run(&mut self, shared: &MemoryWatcherShared) {
        loop {
            let (runtime, limit) = {
                let mut now = shared.config.lock();
                let pause = match (now.limit, self.ladder.stage()) {
                    (None, _) => None,
                    (Some(limit), PressureStage::Normal)
                        if self.used / FREQUENT_CHECK_PERCENT < limit / 100 =>
                    {
                        Some(CALM_INTERVAL)
                    }
                    (Some(limit), PressureStage::Shrinking) if self.used >= limit => Some(SHORT_INTERVAL),
                    (Some(_), PressureStage::Normal | PressureStage::Shrinking) => Some(NEAR_LIMIT_INTERVAL),
                    (Some(_), PressureStage::Closing | PressureStage::Refusing) => Some(SHORT_INTERVAL),
                };
                if !now.is_ending && !now.has_changed {
                    match pause {
                        None => shared.changed.wait(&mut now),
                        Some(pause) => _ = shared.changed.wait_for(&mut now, pause),
                    }
                }
                if now.is_ending {
                    break;
                }
                if std::mem::take(&mut now.has_changed) {
                    (self.non_zone_warning, self.failed_measurements) = (NonZoneMemoryWarning::default(), 0);
                }
                (Arc::clone(&now.runtime), now.limit)
            };
            self.check_once(&runtime, limit);
        }
    }

    /// Measures the memory in use once, and takes the actions of the resulting stage of memory pressure.
    fn check_once(&mut self, runtime: &Runtime, limit: Option<u64>) {
        let resident = match self.resident.bytes() {
            Ok(resident) => resident,
            Err(error) => return self.handle_failed_measurement(runtime, limit, &error),
        };
        self.failed_measurements = 0;
        self.used = resident;
        let caps = zone_caps(runtime);
        let held = caps.iter().map(|(_, cap)| cap.used).sum::<u64>();
        let stage = self.stage(&caps, resident, limit);
        let before = self.subject.pressure.note(limit, stage);
        let most = limit.map_or(usize::MAX, |limit| (limit / WRITES_DIVISOR).max(MIN_WRITE_BYTES) as usize);
        self.subject.disks.limit_write_bytes(most);
        let gone = self.bound_zones(&caps, stage, resident, limit);
        if let Some(line) = self.non_zone_warning.line(resident.saturating_sub(held), limit, gone == 0) {
            runtime.zone_log.write(LogLevel::Warn, None, format_args!("{line}"));
        }
        if stage != before {
            self.subject.encoder.set_paused(stage >= PressureStage::Closing);
            match stage {
                PressureStage::Normal => self.subject.files.keep_part(1, 1),
                PressureStage::Shrinking => self.subject.files.keep_part(1, 4),
                PressureStage::Closing | PressureStage::Refusing => self.subject.files.keep_part(0, 1),
            }
        }
        if stage > PressureStage::Normal {
            self.subject.files.sweep(myriad_net::clock::now_ms());
            self.subject.disks.collect_freed_memory();
            self.subject.encoder.collect_freed_blocks();
            myriad_base::memory::release_free_memory();
        }
        if stage != before || stage > PressureStage::Normal {
            for worker in &self.subject.workers {
                // Fails if the worker has exited; it then uses no memory.
                let _ = worker.send(WorkerCommand::FreeMemory(stage));
            }
        }
        if stage != before {
            let sums = self.subject.pressure.sums(resident);
            let line = self.stage_logger.line(before, &sums, myriad_net::clock::monotonic_ms());
            if let Some((warns, line)) = line {
                let level = if warns { LogLevel::Warn } else { LogLevel::Notice };
                runtime.zone_log.write(level, None, format_args!("{line}"));
            }
        }
    }

    /// Counts a failed measurement of memory. The [`MAX_FAILED_MEASUREMENTS`]th in succession is logged and removes the
    /// limits, if `memory_limit` is set; earlier ones change nothing.
    fn handle_failed_measurement(&mut self, runtime: &Runtime, limit: Option<u64>, error: &std::io::Error) {
        self.failed_measurements = self.failed_measurements.saturating_add(1);
        if self.failed_measurements == MAX_FAILED_MEASUREMENTS && limit.is_some() {
            log_unknown_usage(runtime, error);
            self.remove_limits(runtime);
            (self.ladder, self.used, self.is_stuck) = (PressureTracker::default(), 0, false);
        }
    }

    /// Updates the tracker of memory pressure with `resident` bytes of memory in use, and returns the resulting stage.
    /// `limit` is `memory_limit` in bytes.
    fn stage(
        &mut self,
        zones: &[(&PageStore, ZoneMemory)],
        resident: u64,
        limit: Option<u64>,
    ) -> PressureStage {
        let spare: u64 = zones.iter().map(|(_, cap)| cap.reclaimable()).sum();
        let can_shrink = spare > resident / SPARE_DIVISOR && !self.is_stuck;
        self.ladder.observe(resident, limit.unwrap_or(0), can_shrink)
    }

    /// Updates the memory limits of cache zones and evicts the excess. Returns the number of evicted cache keys.
    fn bound_zones(
        &mut self,
        zones: &[(&PageStore, ZoneMemory)],
        stage: PressureStage,
        resident: u64,
        limit: Option<u64>,
    ) -> usize {
        let mut all_gone = 0;
        let mut caps: Vec<_> = zones.iter().map(|(_, cap)| *cap).collect();
        update_limits(&mut caps, stage, resident, limit.unwrap_or(0));
        for ((zone, _), cap) in zones.iter().zip(caps) {
            let most = if cap.now >= cap.configured { usize::MAX } else { cap.now as usize };
            zone.set_pressure_limit(most);
            loop {
                let gone = zone.shrink(EVICTED_AT_ONCE);
                self.subject.pressure.count_evicted(gone);
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

    /// Removes the limits of cache zones and stops all actions of memory pressure, because the memory in use is no
    /// longer checked.
    fn remove_limits(&self, runtime: &Runtime) {
        self.subject.pressure.note(None, PressureStage::Normal);
        self.subject.encoder.set_paused(false);
        self.subject.files.keep_part(1, 1);
        runtime.zones.values().for_each(|zone| zone.zone.set_pressure_limit(usize::MAX));
        for worker in &self.subject.workers {
            let _ = worker.send(WorkerCommand::FreeMemory(PressureStage::Normal));
        }
    }
}

type PageStore = Zone<PageMeta>;

/// Returns each cache zone with its used memory and its limits, in bytes.
fn zone_caps(runtime: &Runtime) -> Vec<(&PageStore, ZoneMemory)> {
    let cap = |zone: &PageStore| ZoneMemory {
        used: zone.used() as u64,
        configured: zone.limits().memory_bytes as u64,
        now: zone.cap() as u64,
    };
    runtime.zones.values().map(|zone| (&zone.zone, cap(&zone.zone))).collect()
}

#[cfg(test)]
mod tests;
