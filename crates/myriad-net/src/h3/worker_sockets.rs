//! Parameters of a QUIC listener for one worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cid::CidOwner;
use super::relay::QuicRelay;
use super::secret::QuicSecret;
use super::tokens::QuicTokens;
use super::worker_inboxes::{Datagram, WorkerInboxes};

/// Identity, keys and shared state of a QUIC listener, for one worker.
pub struct QuicWorkerSockets {
    /// Number of the listener in the configuration.
    pub number: u32,
    /// Number of the worker, less than the number of inboxes in `crossing`.
    pub worker: u8,
    /// Number of this process in connection IDs, modulo 256.
    pub process: u8,
    /// True if no other worker reads these sockets.
    pub alone: bool,
    /// Keys of stateless resets and connection IDs.
    pub secret: QuicSecret,
    /// Key of address validation tokens, and the tokens used so far.
    pub tokens: QuicTokens,
    /// Inboxes through which the workers of the listener exchange datagrams.
    pub crossing: Arc<WorkerInboxes>,
    /// Registration of the listener with the relay between processes.
    pub relay: QuicListenerShare,
}

/// Registration of a listener with the relay between processes.
#[derive(Clone, Debug)]
pub struct QuicListenerShare {
    relay: Arc<QuicRelay>,
    listener: u64,
    reads: Arc<AtomicBool>,
}

impl QuicListenerShare {
    /// Registers the listener `name`; `crossing` are the inboxes of its workers.
    pub fn new(relay: &Arc<QuicRelay>, name: &str, crossing: &Arc<WorkerInboxes>) -> Self {
        let (listener, reads) = relay.listen(name, crossing);
        Self { relay: Arc::clone(relay), listener, reads }
    }

    /// Returns true while this process reads the listener's sockets. The workers are woken when the process starts to
    /// read.
    pub(super) fn reads(&self) -> bool {
        self.reads.load(Ordering::Acquire)
    }

    /// Forwards a datagram to the process that owns its connection. Returns false if that process does not exist or has
    /// closed its inbox; true even if the datagram was dropped because the inbox is full.
    pub(super) fn forward(&self, owner: CidOwner, datagram: &Datagram) -> bool {
        self.relay.forward(self.listener, owner, datagram)
    }

    /// Returns true if another process accepts new connections of the listener, or has accepted them since this process
    /// started to leave.
    pub(super) fn has_successor(&self) -> bool {
        self.relay.has_successor(self.listener)
    }
}
