//! State of one worker thread.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use myriad_base::bounded::Lru;
use myriad_encode::{CompressionPool, PoolOptions};
use myriad_files::FileCache;
use myriad_log::LogWriter;
use myriad_net::ConnectionLimiter;
use myriad_upstream::{Connections, HttpPool, Resolver, WorkerConnections};

use crate::counters::{Counters, Snapshot};
use crate::exchange::Engine;
use crate::failure::ProcessFailure;
use crate::observation::{SiteObservation, WorkerObservation};
use crate::runtime::{OriginGroup, Runtime};
use crate::traffic::TrafficSlots;
use crate::worker_caches::{RefreshBudget, Shortcuts, UriCache};

/// Maximum number of origin addresses with variables that a worker caches. The most recently used are retained, because
/// clients can influence the values.
const ADDRESSES: u64 = 1024;

/// Maximum time that closing a connection waits until its log lines are written.
const LONGEST_LOG_WAIT: Duration = Duration::from_secs(1);

/// State of a worker thread. It survives reloads.
pub struct WorkerState {
    /// Number of the worker, from 0.
    pub number: usize,
    /// Cache of file metadata, shared with the other workers.
    pub files: Arc<FileCache>,
    /// Connection slots of the worker, shared by clients and origins.
    pub connection_limiter: ConnectionLimiter,
    /// Connections to origins; each takes one of the connection slots.
    pub origins: Connections,
    /// Failure flag of the process, shared with the other workers.
    pub failure: Arc<ProcessFailure>,
    /// Log buffers.
    pub logs: LogWriter,
    /// Background compression, shared with the other workers.
    pub encoder: Arc<CompressionPool>,
    /// Counters of this worker. They are separate so that two workers never write to the same cache line.
    pub counters: Arc<Counters>,
    /// Counters of all workers, including this worker.
    pub all_counters: Arc<[Arc<Counters>]>,
    /// Recent and sampled requests of this worker.
    pub observation: WorkerObservation,
}

impl WorkerState {
    /// Creates the first worker of a site without other workers, for requests that no client sent.
    pub fn single(site: &Runtime) -> std::io::Result<Self> {
        let all_counters = Arc::clone(&site.traffic.workers);
        let counters = all_counters.first().cloned().unwrap_or_default();
        Ok(Self { number: 0, all_counters, counters, ..Self::detached()? })
    }

    /// Creates a state outside the workers of a site, for requests that are only simulated (to explain their result)
    /// and not counted. A worker writes its counters without synchronization, so another thread must not act as that
    /// worker.
    pub fn detached() -> std::io::Result<Self> {
        Ok(Self {
            number: usize::MAX,
            files: Arc::default(),
            connection_limiter: ConnectionLimiter::new(1),
            origins: Connections::unbounded(),
            failure: Arc::default(),
            logs: LogWriter::default(),
            encoder: Arc::new(CompressionPool::start(&PoolOptions::default())?),
            all_counters: Arc::default(),
            counters: Arc::default(),
            observation: WorkerObservation::new(
                Arc::new(SiteObservation::new(1, myriad_net::clock::now_ms())),
                0,
            ),
        })
    }

    /// Creates the origin connections of a worker. They may take at most half of its slots: an HTTP/1 client has one
    /// fetch at a time, and HTTP/2 and HTTP/3 clients, which have many, must not prevent others from connecting.
    pub fn origins(seats: &ConnectionLimiter, files: &Arc<FileCache>) -> Connections {
        let most = (seats.capacity() / 2).max(1);
        let seating = OriginConnections { connection_limiter: seats.clone(), files: Arc::clone(files) };
        Connections::bounded(most, Box::new(seating))
    }

    /// Frees file descriptors when the process has run out of them: closes files that are not being sent, otherwise a
    /// connection that may be closed.
    pub fn make_descriptors(&self) {
        make_descriptors(&self.connection_limiter, &self.files);
    }

    /// Returns a future that is ready when the lines gathered so far for unbuffered access logs are written, or after
    /// one second. Returns `None` if no such line waits or if the disk was too slow recently. Lines of connections that
    /// close in the same round of the worker are written together.
    pub fn logs_written(self: &Rc<Self>) -> Option<impl Future<Output = ()> + use<>> {
        let written = self.logs.wait()?;
        let worker = Rc::clone(self);
        Some(async move {
            tokio::task::yield_now().await;
            worker.logs.write_for_waiters();
            // The sender is dropped after the lines are written.
            if tokio::time::timeout(LONGEST_LOG_WAIT, written).await.is_err() {
                worker.logs.note_slow_disk();
            }
        })
    }

    /// Returns the sum of the counters of all workers.
    pub fn total(&self) -> Snapshot {
        self.all_counters.iter().map(|counters| counters.snapshot()).sum()
    }
}

/// Worker resources that connections to origins take.
struct OriginConnections {
    connection_limiter: ConnectionLimiter,
    files: Arc<FileCache>,
}

impl WorkerConnections for OriginConnections {
    fn take(&self) -> Option<Box<dyn Any>> {
        self.connection_limiter.take_slot().map(|seat| Box::new(seat) as Box<dyn Any>)
    }

    fn make_descriptors(&self) {
        make_descriptors(&self.connection_limiter, &self.files);
    }
}

/// Frees a descriptor for one waiting connection, because many may wait at the same time.
fn make_descriptors(seats: &ConnectionLimiter, files: &FileCache) {
    if !files.close_unused() {
        seats.free_descriptors(1);
    }
}

/// Configuration generation of a worker, from one reload to the next.
pub struct Generation {
    /// Compiled configuration.
    pub runtime: Arc<Runtime>,
    /// Engine that runs subrequests.
    pub engine: &'static dyn Engine,
    /// State of the worker.
    pub worker: Rc<WorkerState>,
    /// Results of the location rules for previous requests.
    pub shortcuts: Shortcuts,
    /// Budget for refreshing pages before they expire.
    pub refresh_budget: RefreshBudget,
    /// Cache of parsed URIs.
    pub memo: UriCache,
    /// Idle connections to HTTP origins.
    pub pool: HttpPool,
    /// Resolvers, by their number in the runtime.
    pub resolvers: Vec<Resolver>,
    /// Origins whose addresses came from variables, by address.
    pub address_groups: RefCell<Lru<String, Arc<OriginGroup>>>,
    /// Traffic counters that the requests of this generation update.
    pub traffic: TrafficSlots,
}

impl Generation {
    /// Creates a generation that has not served a request yet.
    pub fn new(runtime: Arc<Runtime>, worker: Rc<WorkerState>, engine: &'static dyn Engine) -> Self {
        let resolvers = runtime.resolvers.iter().map(|config| Resolver::new(Arc::clone(config)));
        Self {
            resolvers: resolvers.collect(),
            runtime,
            engine,
            pool: HttpPool::of(worker.origins.clone()),
            worker,
            memo: UriCache::default(),
            shortcuts: Shortcuts::default(),
            refresh_budget: RefreshBudget::default(),
            address_groups: RefCell::new(Lru::new(ADDRESSES)),
            traffic: TrafficSlots::default(),
        }
    }
}
