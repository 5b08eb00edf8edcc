//! Commands of the site for its worker threads.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use myriad_base::memory::PressureStage;
use myriad_net::QuicWorkerSockets;

use crate::streams::StreamRuntime;
use myriad_exchange::runtime::Runtime;

/// Command for a worker thread.
pub(super) enum WorkerCommand {
    /// Run a configuration: the first one, or one that replaces the previous one.
    Run {
        /// Compiled `http` block of the configuration.
        runtime: Arc<Runtime>,
        /// Compiled `stream` block of the configuration; `None` if it has none.
        streams: Option<Arc<StreamRuntime>>,
        /// TCP and Unix sockets on which connections are accepted.
        sockets: Vec<ListenSocket>,
        /// QUIC sockets of the worker, by address.
        quic: Vec<WorkerQuicSockets>,
        /// UDP sockets of `stream`.
        datagrams: Vec<ListenSocket>,
        /// Maximum time for which tunnels (such as WebSocket) of the previous configuration may continue (its
        /// `worker_shutdown_timeout`); `None` without a limit.
        tunnels_end: Option<Duration>,
        /// Receives `Ok` once the worker accepts connections with the configuration, or the error.
        done: mpsc::Sender<std::io::Result<()>>,
    },
    /// After this time, close connections that still use an earlier configuration.
    EndStragglers(Duration),
    /// The stage of memory pressure has changed, or a memory check has found it above `Normal` again: free idle
    /// resources.
    FreeMemory(PressureStage),
    /// Pass all access log lines to the writer threads, which then close the log files whose paths contain variables.
    /// The next line opens such a file again.
    Reopen,
    /// Pass all access log lines to the writer threads, then send a confirmation: the process is about to exit.
    FlushLogs(std::sync::mpsc::Sender<()>),
    /// Stop accepting connections. Exchanges in progress may continue for this time; without a limit for `None`.
    Quit(Option<Duration>),
}

/// Listening socket.
pub(super) struct ListenSocket {
    /// Number of the socket's address (listener), which a reload does not change.
    pub number: u32,
    /// Descriptor of the socket.
    pub descriptor: OwnedFd,
}

/// QUIC sockets of one address that belong to one worker.
pub(super) struct WorkerQuicSockets {
    /// Descriptors of the sockets.
    pub descriptors: Vec<OwnedFd>,
    /// Number, keys and shared state of the listener, and the number of the worker.
    pub place: QuicWorkerSockets,
}
