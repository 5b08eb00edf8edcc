//! Sockets of a listener, and the numbers of its worker and process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cid::CidOwner;
use super::relay::QuicRelay;
use super::secret::QuicSecret;
use super::tokens::QuicTokens;
use super::worker_inboxes::{Datagram, WorkerInboxes};

/// Sockets of a QUIC listener, as used by one worker.
pub struct QuicWorkerSockets {
    /// Number of the listener.
    pub number: u32,
    /// Number of the worker, less than the number of workers of the crossing.
    pub worker: u8,
    /// Number of the process, modulo 256.
    pub process: u8,
    /// Set if no other worker reads these sockets.
    pub alone: bool,
    /// Keys of stateless resets and connection IDs.
    pub secret: QuicSecret,
    /// Key of tokens, and the tokens used so far.
    pub tokens: QuicTokens,
    /// Inboxes through which workers exchange datagrams.
    pub crossing: Arc<WorkerInboxes>,
    /// The listener's part of the relay between processes.
    pub relay: QuicListenerShare,
}

/// Part of a listener in the relay between processes.
#[derive(Clone, Debug)]
pub struct QuicListenerShare {
    relay: Arc<QuicRelay>,
    listener: u64,
    reads: Arc<AtomicBool>,
}

impl QuicListenerShare {
    /// Registers the listener `name`, whose workers use `crossing`.
    pub fn new(relay: &Arc<QuicRelay>, name: &str, crossing: &Arc<WorkerInboxes>) -> Self {
        let (listener, reads) = relay.listen(name, crossing);
        Self { relay: Arc::clone(relay), listener, reads }
    }

    /// Returns whether this process reads the listener's sockets. Its workers are woken when it starts to.
    pub(super) fn reads(&self) -> bool {
        self.reads.load(Ordering::Acquire)
    }

    /// Forwards a datagram to the process of its connection. Returns `false` if that process does not exist.
    pub(super) fn forward(&self, owner: CidOwner, datagram: &Datagram) -> bool {
        self.relay.forward(self.listener, owner, datagram)
    }

    /// Returns whether another process accepts new connections.
    pub(super) fn has_successor(&self) -> bool {
        self.relay.has_successor(self.listener)
    }
}
