//! What belongs to one worker thread.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use myriad_bounded::Lru;
use myriad_encode::{Pool, PoolOptions};
use myriad_files::FileCache;
use myriad_log::LogWriter;
use myriad_net::Seats;
use myriad_upstream::{Connections, HttpPool, Resolver, Seating};

use crate::counters::{Counters, Snapshot};
use crate::exchange::Engine;
use crate::failure::Failure;
use crate::memory::{Budget, Memo, Shortcuts};
use crate::runtime::{OriginGroup, Runtime};
use crate::sight::{Sight, WorkerSight};
use crate::traffic::TrafficSlots;

/// Most addresses made of variables that a worker remembers, those that were asked last; a client may have its say in what they
/// hold.
const ADDRESSES: u64 = 1024;

/// Maximum time that the close of a connection waits until its lines are in the log.
const LONGEST_LOG_WAIT: Duration = Duration::from_secs(1);

/// A worker thread's own state; it outlives reloads.
pub struct WorkerState {
    /// Which of the workers it is, from 0.
    pub number: usize,
    /// What is known of files; shared with the other workers.
    pub files: Arc<FileCache>,
    /// Its connections: clients and origins take seats together.
    pub seats: Seats,
    /// Its connections to origins; each has one of the seats.
    pub origins: Connections,
    /// Whether the process has failed; shared with the other workers.
    pub failure: Arc<Failure>,
    /// Log buffers.
    pub logs: LogWriter,
    /// Background compression; shared with the other workers.
    pub encoder: Arc<Pool>,
    /// What this worker has done; its own, so that two workers never write to one line of memory.
    pub counters: Arc<Counters>,
    /// The counters of all workers, this one's among them.
    pub all_counters: Arc<[Arc<Counters>]>,
    /// What is seen of its requests.
    pub sight: WorkerSight,
}

impl WorkerState {
    /// The first worker of a site, alone: for requests that no client sent.
    pub fn alone(site: &Runtime) -> std::io::Result<Self> {
        let all_counters = Arc::clone(&site.traffic.workers);
        let counters = all_counters.first().cloned().unwrap_or_default();
        Ok(Self { number: 0, all_counters, counters, ..Self::aside()? })
    }

    /// None of a site's workers, beside them: for questions what would become of a request, which count as no request. A worker counts in
    /// memory that it alone writes to, so another thread must not take a worker's place.
    pub fn aside() -> std::io::Result<Self> {
        Ok(Self {
            number: usize::MAX,
            files: Arc::default(),
            seats: Seats::new(1),
            origins: Connections::unbounded(),
            failure: Arc::default(),
            logs: LogWriter::default(),
            encoder: Arc::new(Pool::start(&PoolOptions::default())?),
            all_counters: Arc::default(),
            counters: Arc::default(),
            sight: WorkerSight::new(Arc::new(Sight::new(1, myriad_net::clock::now_ms())), 0),
        })
    }

    /// Of a worker's seats origins get half at most: each client on HTTP/1 has one fetch at a time, and clients on HTTP/2
    /// and HTTP/3, which have many, must not keep others from connecting.
    pub fn origins(seats: &Seats, files: &Arc<FileCache>) -> Connections {
        let most = (seats.most() / 2).max(1);
        let seating = OriginSeats { seats: seats.clone(), files: Arc::clone(files) };
        Connections::bounded(most, Box::new(seating))
    }

    /// The process has no descriptor left: closes files that nobody is sent, else a connection that can give way.
    pub fn make_descriptors(&self) {
        make_descriptors(&self.seats, &self.files);
    }

    /// Returns a future that is ready when the lines of unbuffered access logs that were gathered until now are written, or after a
    /// second; `None` if no such line waits, or the disk was too slow a moment ago. Connections that close in the same round of the
    /// worker have their lines written together.
    pub fn logged(self: &Rc<Self>) -> Option<impl Future<Output = ()> + use<>> {
        let written = self.logs.wait()?;
        let worker = Rc::clone(self);
        Some(async move {
            tokio::task::yield_now().await;
            worker.logs.write_for_waiters();
            // The sender is dropped once the lines are written.
            if tokio::time::timeout(LONGEST_LOG_WAIT, written).await.is_err() {
                worker.logs.note_slow_disk();
            }
        })
    }

    /// What all workers together have done.
    pub fn everybody(&self) -> Snapshot {
        self.all_counters.iter().map(|counters| counters.snapshot()).sum()
    }
}

/// What connections to origins take of a worker.
struct OriginSeats {
    seats: Seats,
    files: Arc<FileCache>,
}

impl Seating for OriginSeats {
    fn take(&self) -> Option<Box<dyn Any>> {
        self.seats.take().map(|seat| Box::new(seat) as Box<dyn Any>)
    }

    fn make_descriptors(&self) {
        make_descriptors(&self.seats, &self.files);
    }
}

/// Room for one who waits: many may wait at once.
fn make_descriptors(seats: &Seats, files: &FileCache) {
    if !files.close_unused() {
        seats.make_descriptors(1);
    }
}

/// The site as one worker runs it, from one reload to the next.
pub struct Generation {
    /// The site.
    pub runtime: Arc<Runtime>,
    /// What runs subrequests.
    pub engine: &'static dyn Engine,
    /// The worker.
    pub worker: Rc<WorkerState>,
    /// What the rules came to for requests before.
    pub shortcuts: Shortcuts,
    /// What it may spend on refreshing pages before they expire.
    pub early: Budget,
    /// What the worker remembers of URIs.
    pub memo: Memo,
    /// Idle connections to HTTP origins.
    pub pool: HttpPool,
    /// What looks names up, by their number in the runtime.
    pub resolvers: Vec<Resolver>,
    /// Origins whose address a variable held, by that address.
    pub addressed: RefCell<Lru<String, Arc<OriginGroup>>>,
    /// Counts of traffic that its requests add to.
    pub traffic: TrafficSlots,
}

impl Generation {
    /// A site that nobody has asked yet.
    pub fn new(runtime: Arc<Runtime>, worker: Rc<WorkerState>, engine: &'static dyn Engine) -> Self {
        let resolvers = runtime.resolvers.iter().map(|config| Resolver::new(Arc::clone(config)));
        Self {
            resolvers: resolvers.collect(),
            runtime,
            engine,
            pool: HttpPool::of(worker.origins.clone()),
            worker,
            memo: Memo::default(),
            shortcuts: Shortcuts::default(),
            early: Budget::default(),
            addressed: RefCell::new(Lru::new(ADDRESSES)),
            traffic: TrafficSlots::default(),
        }
    }
}
