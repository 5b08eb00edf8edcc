//! The thread that watches the memory of the process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use myriad_conf::model::MemoryLimit;
use myriad_encode::Pool;
use myriad_exchange::pressure::Pressure;
use myriad_exchange::runtime::Runtime;
use myriad_files::FileCache;
use myriad_log::Level;
use myriad_memory::{Cap, Ladder, Stage, recap};
use myriad_page::PageMeta;
use myriad_store::{DiskPool, Zone};
use parking_lot::{Condvar, Mutex};
use tokio::sync::mpsc as channel;

use super::tell::Teller;
use crate::machine::{self, Resident};
use crate::site::orders::Order;

/// Between two looks where less than [`FAR`] of the limit is in use.
const CALM: Duration = Duration::from_secs(1);
/// The same beyond that, and where zones shrink: what they give up is the system's some tenths of a second later.
const NEAR: Duration = Duration::from_millis(250);
/// The same where more than zones has to give way, or the limit is passed.
const SHORT: Duration = Duration::from_millis(100);
/// The part of the limit from which on memory is looked at more often, percent.
const FAR: u64 = 60;
/// Pages that may wait to be written: so many parts of the limit, or [`LEAST_WRITES`] bytes where that is more.
const WRITES_PART: u64 = 16;
const LEAST_WRITES: u64 = 8 << 20;
/// The part of the memory in use that zones must be able to give up, for it to be worth waiting for.
const SPARE_PART: u64 = 32;
/// Keys that a zone evicts before the thread lets others run: some hundred microseconds.
const EVICTED_AT_ONCE: usize = 256;

/// What is watched: it outlives reloads.
pub(in crate::site) struct Subject {
    /// Where the stage is said.
    pub pressure: Arc<Pressure>,
    /// Small files.
    pub files: Arc<FileCache>,
    /// Background compression.
    pub encoder: Arc<Pool>,
    /// The threads of the disk.
    pub disks: DiskPool,
    /// The workers' orders.
    pub workers: Vec<channel::UnboundedSender<Order>>,
}

/// The thread, as the site holds it.
pub(in crate::site) struct Watching {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    now: Mutex<Now>,
    changed: Condvar,
}

/// What the configuration that runs says.
struct Now {
    runtime: Arc<Runtime>,
    limit: Option<u64>,
    ends: bool,
    /// The thread has yet to take it in.
    is_news: bool,
}

impl Watching {
    /// Begins to watch. Where the kernel tells no figure, nothing is bounded, and the log says so.
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
        let resident = Resident::open();
        if let (Err(error), true) = (&resident, limit != MemoryLimit::Off) {
            let text =
                format_args!("\"memory_limit\" cannot be held: open() \"/proc/self/status\" failed: {error}");
            runtime.zone_log.write(Level::Error, None, text);
        }
        let Ok(resident) = resident else { return Ok(Self { shared, thread: None }) };
        let of_thread = Arc::clone(&shared);
        let log = runtime.zone_log.clone();
        let thread = std::thread::Builder::new().name("memory".into()).spawn(move || {
            let mut watch = Watch { subject, resident, used: 0, ladder: Ladder::default(), teller: Teller::default() };
            if catch_unwind(AssertUnwindSafe(|| watch.run(&of_thread))).is_err() {
                watch.let_go(&of_thread.now.lock().runtime.clone());
                log.write(
                    Level::Alert,
                    None,
                    format_args!("a panic ended the watch over \"memory_limit\": memory is not bounded until the next start"),
                );
            }
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Holds what another configuration says from now on.
    pub(in crate::site) fn follow(&self, runtime: &Arc<Runtime>, limit: MemoryLimit) {
        let limit = in_bytes(limit, runtime);
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
            // A panic was told already.
            let _ = thread.join();
        }
    }
}

/// The limit in bytes; says in the log where it is another than was written.
fn in_bytes(limit: MemoryLimit, runtime: &Runtime) -> Option<u64> {
    let memory = machine::memory();
    let bytes = limit.of(memory)?;
    if let MemoryLimit::Bytes(written) = limit
        && written > bytes
    {
        let mib = |bytes: u64| bytes >> 20;
        let text = format_args!(
            "\"memory_limit\" of {} MB is more than there is: {} MB are held to",
            mib(written),
            mib(bytes),
        );
        runtime.zone_log.write(Level::Warn, None, text);
    }
    Some(bytes)
}

struct Watch {
    subject: Subject,
    resident: Resident,
    /// What was in use when it was looked at last, bytes.
    used: u64,
    ladder: Ladder,
    teller: Teller,
}

impl Watch {
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
                now.is_news = false;
                (Arc::clone(&now.runtime), now.limit)
            };
            self.look(&runtime, limit);
        }
    }

    /// Looks once, and has done what the stage asks for.
    fn look(&mut self, runtime: &Runtime, limit: Option<u64>) {
        // Without a figure all stays as it is.
        let Ok(resident) = self.resident.bytes() else { return };
        self.used = resident;
        let mut caps = caps(runtime);
        let can_shrink = caps.iter().map(|(_, cap)| cap.spare()).sum::<u64>() > resident / SPARE_PART;
        let stage = self.ladder.observe(resident, limit.unwrap_or(0), can_shrink);
        let before = self.subject.pressure.note(resident, limit, stage);
        let most = limit.map_or(usize::MAX, |limit| (limit / WRITES_PART).max(LEAST_WRITES) as usize);
        self.subject.disks.bound_writes(most);
        self.bound_zones(&mut caps, stage, resident, limit);
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
        }
        if stage > Stage::Normal {
            self.subject.disks.take_in();
            self.subject.encoder.take_in();
            myriad_memory::give_back();
        }
        if stage != before || stage > Stage::Normal {
            for worker in &self.subject.workers {
                // A worker that has ended holds nothing.
                let _ = worker.send(Order::Relieve(stage));
            }
        }
        if stage != before {
            let sums = self.subject.pressure.sums();
            let line = self.teller.line(before, &sums, myriad_net::clock::monotonic_ms());
            if let Some((warns, line)) = line {
                let level = if warns { Level::Warn } else { Level::Notice };
                runtime.zone_log.write(level, None, format_args!("{line}"));
            }
        }
    }

    /// Says anew what zones may hold, and has them give up what is too much.
    fn bound_zones(&self, zones: &mut [(&PageStore, Cap)], stage: Stage, resident: u64, limit: Option<u64>) {
        let mut caps: Vec<_> = zones.iter().map(|(_, cap)| *cap).collect();
        recap(&mut caps, stage, resident, limit.unwrap_or(0));
        for ((zone, _), cap) in zones.iter().zip(caps) {
            let most = if cap.now >= cap.configured { usize::MAX } else { cap.now as usize };
            zone.press(most);
            loop {
                let gone = zone.shrink(EVICTED_AT_ONCE);
                self.subject.pressure.gave_up(gone);
                if gone < EVICTED_AT_ONCE {
                    break;
                }
                std::thread::yield_now();
            }
        }
    }

    /// Bounds nothing any more.
    fn let_go(&self, runtime: &Runtime) {
        self.subject.pressure.note(0, None, Stage::Normal);
        self.subject.encoder.rest(false);
        self.subject.files.keep_part(1, 1);
        runtime.zones.values().for_each(|zone| zone.zone.press(usize::MAX));
        for worker in &self.subject.workers {
            let _ = worker.send(Order::Relieve(Stage::Normal));
        }
    }
}

/// The store of a zone.
type PageStore = Zone<PageMeta>;

/// What each zone holds, and may hold.
fn caps(runtime: &Runtime) -> Vec<(&PageStore, Cap)> {
    let cap = |zone: &PageStore| Cap {
        used: zone.used() as u64,
        configured: zone.limits().memory_bytes as u64,
        now: zone.cap() as u64,
    };
    runtime.zones.values().map(|zone| (&zone.zone, cap(&zone.zone))).collect()
}
