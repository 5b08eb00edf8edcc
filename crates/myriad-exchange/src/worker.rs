//! State of one worker thread.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use myriad_encode::{CompressionPool, PoolOptions};
use myriad_files::FileCache;
use myriad_log::LogWriter;
use myriad_net::ConnectionLimiter;
use myriad_upstream::{Connections, WorkerConnections};

use crate::counters::{Counters, Snapshot};
use crate::failure::ProcessFailure;
use crate::observation::{SiteObservation, WorkerObservation};

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
    /// Counter and limit of the connections with origins (half of the capacity of `connection_limiter`; idle FastCGI
    /// connections are not counted). Each counted connection takes a slot of `connection_limiter`; in a
    /// [`Self::detached`] state there is no limit.
    pub origins: Connections,
    /// Set if the process has failed and is exiting; shared with the other workers.
    pub failure: Arc<ProcessFailure>,
    /// Writer of access logs, with its buffers.
    pub logs: LogWriter,
    /// Background threads that compress and optimize pages, shared with the other workers.
    pub encoder: Arc<CompressionPool>,
    /// Counters of this worker. Separate per worker, so that no two workers write to the same cache line.
    pub counters: Arc<Counters>,
    /// Counters of all workers, including this one; empty in a [`Self::detached`] state.
    pub all_counters: Arc<[Arc<Counters>]>,
    /// State with which this worker records its requests for rankings and live events.
    pub observation: WorkerObservation,
}

impl WorkerState {
    /// Creates the state of the first worker of a site, for tools and tests. `all_counters` are the counters of all
    /// workers of the site. Fails if no thread can be created.
    pub fn single(all_counters: Arc<[Arc<Counters>]>) -> std::io::Result<Self> {
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

    /// Creates the counter of a worker's connections with origins. They may take at most half of the worker's
    /// connection slots (at least one), so that HTTP/2 and HTTP/3 clients, each with many requests, do not prevent
    /// other clients from connecting.
    pub fn origins(limiter: &ConnectionLimiter, files: &Arc<FileCache>) -> Connections {
        let max_connections = (limiter.capacity() / 2).max(1);
        let resources = OriginConnections { connection_limiter: limiter.clone(), files: Arc::clone(files) };
        Connections::bounded(max_connections, Box::new(resources))
    }

    /// Frees file descriptors when the process has run out of them: closes all cached files that are not in use or, if
    /// there are none, one connection.
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

/// Resources of a worker that connections with origins use: connection slots and file descriptors.
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
fn make_descriptors(limiter: &ConnectionLimiter, files: &FileCache) {
    if !files.close_unused() {
        limiter.free_descriptors(1);
    }
}
