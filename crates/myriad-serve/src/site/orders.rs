//! What the site tells its worker threads.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use myriad_memory::Stage;
use myriad_net::QuicPlace;

use myriad_exchange::runtime::Runtime;
use myriad_stream::StreamRuntime;

/// What a worker thread is told to do.
pub(super) enum Order {
    /// Runs a configuration, the first or a new one.
    Run {
        /// The configuration, compiled.
        runtime: Arc<Runtime>,
        /// Its `stream` block, if it has one.
        streams: Option<Arc<StreamRuntime>>,
        /// The sockets that it accepts from.
        sockets: Vec<Socket>,
        /// Those for QUIC.
        quic: Vec<QuicSockets>,
        /// Those of UDP that `stream` serves.
        datagrams: Vec<Socket>,
        /// When tunnels of the configuration before end (`worker_shutdown_timeout` of that one).
        tunnels_end: Option<Duration>,
        /// Hears when the sockets are accepted from, or why not.
        done: mpsc::Sender<std::io::Result<()>>,
    },
    /// What is busy with an earlier configuration has so long to end.
    EndStragglers(Duration),
    /// The process lacks memory, or has enough again: give back what is idle.
    Relieve(Stage),
    /// Logs that only the worker knows, those whose paths hold variables, are to be opened anew.
    Reopen,
    /// Leave all lines of access logs to the threads that write them, and say so: the process is to end at once.
    LeaveLines(std::sync::mpsc::Sender<()>),
    /// No more connections; what is under way has so long to end, any time where that is not limited.
    Quit(Option<Duration>),
}

/// A listening socket for streams.
pub(super) struct Socket {
    /// The number of its address, the same over reloads.
    pub number: u32,
    /// The socket itself.
    pub descriptor: OwnedFd,
}

/// A listener for QUIC, as one worker has it.
pub(super) struct QuicSockets {
    /// The sockets of one address that are this worker's.
    pub descriptors: Vec<OwnedFd>,
    /// Where the worker stands among those that share the address.
    pub place: QuicPlace,
}
