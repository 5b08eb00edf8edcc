//! Orders of the site for its worker threads.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use myriad_base::memory::PressureStage;
use myriad_net::QuicWorkerSockets;

use crate::streams::StreamRuntime;
use myriad_exchange::runtime::Runtime;

/// Order for a worker thread.
pub(super) enum WorkerCommand {
    /// Run a configuration, the first or a new one.
    Run {
        /// Compiled configuration.
        runtime: Arc<Runtime>,
        /// Its `stream` block, if any.
        streams: Option<Arc<StreamRuntime>>,
        /// Sockets from which connections are accepted.
        sockets: Vec<ListenSocket>,
        /// QUIC sockets.
        quic: Vec<WorkerQuicSockets>,
        /// UDP sockets of `stream`.
        datagrams: Vec<ListenSocket>,
        /// Time limit for tunnels of the previous configuration (its `worker_shutdown_timeout`).
        tunnels_end: Option<Duration>,
        /// Receives the result once connections are accepted, or the error.
        done: mpsc::Sender<std::io::Result<()>>,
    },
    /// Close connections of earlier configurations that are still busy after this time.
    EndStragglers(Duration),
    /// Change of the memory stage: free idle resources.
    FreeMemory(PressureStage),
    /// Reopen the logs that only the worker has open: those whose paths contain variables.
    Reopen,
    /// Pass all access log lines to the writing threads, and confirm it, because the process exits immediately.
    FlushLogs(std::sync::mpsc::Sender<()>),
    /// Stop accepting connections. Exchanges in progress may continue for this time, or without a limit.
    Quit(Option<Duration>),
}

/// Listening socket for connections.
pub(super) struct ListenSocket {
    /// Number of its address, the same over reloads.
    pub number: u32,
    /// Descriptor of the socket.
    pub descriptor: OwnedFd,
}

/// QUIC listener of one worker.
pub(super) struct WorkerQuicSockets {
    /// Sockets of one address that belong to this worker.
    pub descriptors: Vec<OwnedFd>,
    /// Position of the worker among those that share the address.
    pub place: QuicWorkerSockets,
}
