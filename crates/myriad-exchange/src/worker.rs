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

/// Maximum number of origins that a worker remembers for targets with variables. The least recently used are dropped,
/// because clients may influence the values.
const ADDRESSES: u64 = 1024;

/// Maximum time that the closing of a connection waits for its access log lines to be written.
const LONGEST_LOG_WAIT: Duration = Duration::from_secs(1);

/// State of a worker thread. Survives reloads.
pub struct WorkerState {
    /// Number of the worker, from 0; `usize::MAX` for a [`Self::detached`] state.
    pub number: usize,
    /// Cache of open files and their metadata, shared with the other workers.
    pub files: Arc<FileCache>,
    /// Limiter of the worker's connections, with clients and with origins.
    pub connection_limiter: ConnectionLimiter,
    /// Connections with origins; each takes a slot of the connection limiter.
    pub origins: Connections,
    /// Set if the process has failed and is exiting; shared with the other workers.
    pub failure: Arc<ProcessFailure>,
    /// Writer of access logs, with its buffers.
    pub logs: LogWriter,
    /// Threads for compression, shared with the other workers.
    pub encoder: Arc<CompressionPool>,
    /// Counters of this worker. Separate per worker, so that no two workers write to the same cache line.
    pub counters: Arc<Counters>,
    /// Counters of all workers, including this one.
    pub all_counters: Arc<[Arc<Counters>]>,
    /// Rankings of this worker's requests, and live events.
    pub observation: WorkerObservation,
}

impl WorkerState {
    /// Creates the state of the first worker, without the other workers of a site: for tools and tests. Fails if no
    /// thread can be created.
    pub fn single(site: &Runtime) -> std::io::Result<Self> {
        let all_counters = Arc::clone(&site.traffic.workers);
        let counters = all_counters.first().cloned().unwrap_or_default();
        Ok(Self { number: 0, all_counters, counters, ..Self::detached()? })
    }

    /// Creates a state that belongs to no worker of a site: for requests that are only simulated (to explain them) and
    /// not counted. Another thread must not use a worker's state, because a worker writes its counters without
    /// synchronization. Fails if no thread can be created.
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

    /// Creates the connections of a worker with origins. They may take at most half of the worker's connection slots,
    /// so that HTTP/2 and HTTP/3 clients, each with many requests, do not prevent other clients from connecting.
    pub fn origins(seats: &ConnectionLimiter, files: &Arc<FileCache>) -> Connections {
        let most = (seats.capacity() / 2).max(1);
        let seating = OriginConnections { connection_limiter: seats.clone(), files: Arc::clone(files) };
        Connections::bounded(most, Box::new(seating))
    }

    /// Frees file descriptors when the process has run out of them: closes cached files that are not in use or, if
    /// there are none, a connection that may be closed.
    pub fn make_descriptors(&self) {
        make_descriptors(&self.connection_limiter, &self.files);
    }

    /// Returns a future that is ready once the lines of unbuffered access logs gathered so far are written, or after
    /// one second. Returns `None` if there are no such lines, or if the disk was too slow recently. Lines of
    /// connections that close in the same round of the worker are written together.
    pub fn logs_written(self: &Rc<Self>) -> Option<impl Future<Output = ()> + use<>> {
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

    /// Returns the sum of the counters of all workers.
    pub fn total(&self) -> Snapshot {
        self.all_counters.iter().map(|counters| counters.snapshot()).sum()
    }
}

/// Resources of a worker that its connections with origins take.
struct OriginConnections {
    connection_limiter: ConnectionLimiter,
    files: Arc<FileCache>,
}

impl WorkerConnections for OriginConnections {
    fn take(&self) -> Option<Box<dyn Any>> {
        self.connection_limiter.take_slot().map(|slot| Box::new(slot) as Box<dyn Any>)
    }

    fn make_descriptors(&self) {
        make_descriptors(&self.connection_limiter, &self.files);
    }
}

/// Frees descriptors: unused cached files, otherwise one connection, because many connections may be waiting for a
/// descriptor at the same time.
fn make_descriptors(seats: &ConnectionLimiter, files: &FileCache) {
    if !files.close_unused() {
        seats.free_descriptors(1);
    }
}

/// Compiled configuration in use by a worker, with the resources that belong to it. A reload creates a new generation;
/// requests in progress continue with the old one.
pub struct Generation {
    /// Compiled configuration, shared with the other workers.
    pub runtime: Arc<Runtime>,
    /// Engine that runs the phases of subrequests.
    pub engine: &'static dyn Engine,
    /// State of the worker thread.
    pub worker: Rc<WorkerState>,
    /// Routing results of earlier requests.
    pub shortcuts: Shortcuts,
    /// Budget for refreshing pages in the background before they expire.
    pub refresh_budget: RefreshBudget,
    /// Locations and results of `try_files` by URI.
    pub memo: UriCache,
    /// Connections with origins for reuse: idle ones of HTTP/1 and memcached, and all of HTTP/2.
    pub pool: HttpPool,
    /// Resolvers, by their index in [`Runtime::resolvers`].
    pub resolvers: Vec<Resolver>,
    /// Origins of targets with variables, by evaluated address.
    pub address_groups: RefCell<Lru<String, Arc<OriginGroup>>>,
    /// Traffic counters by key that requests of this generation use, by slot number.
    pub traffic: TrafficSlots,
}

impl Generation {
    /// Creates a generation with empty caches and pools.
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
