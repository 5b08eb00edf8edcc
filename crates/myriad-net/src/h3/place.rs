//! The sockets of a listener, and where its worker and process stand among others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cid::Owner;
use super::crossing::{Crossing, Datagram};
use super::relay::Relay;
use super::secret::QuicSecret;
use super::tokens::QuicTokens;

/// The sockets of a listener for QUIC, as one worker has them.
pub struct QuicPlace {
    /// The number of its listener.
    pub number: u32,
    /// The number of the worker; below that of the crossing's workers.
    pub worker: u8,
    /// The number of the process, modulo 256.
    pub process: u8,
    /// Whether no other worker reads these sockets.
    pub alone: bool,
    /// What resets and connection IDs are made with.
    pub secret: QuicSecret,
    /// What tokens are made with, and which were used.
    pub tokens: QuicTokens,
    /// The inboxes in which workers pass on what is not theirs.
    pub crossing: Arc<Crossing>,
    /// The listener's part in what processes pass on to each other.
    pub relay: QuicShare,
}

/// A listener's part in what processes pass on to each other.
#[derive(Clone, Debug)]
pub struct QuicShare {
    relay: Arc<Relay>,
    listener: u64,
    reads: Arc<AtomicBool>,
}

impl QuicShare {
    /// The part of the listener of that name, whose workers have this crossing.
    pub fn new(relay: &Arc<Relay>, name: &str, crossing: &Arc<Crossing>) -> Self {
        let (listener, reads) = relay.listen(name, crossing);
        Self { relay: Arc::clone(relay), listener, reads }
    }

    /// Whether this process reads the listener's sockets. Its workers are woken when it begins to.
    pub(super) fn reads(&self) -> bool {
        self.reads.load(Ordering::Acquire)
    }

    /// Passes a datagram on to the process that has its connection. False where there is no such process.
    pub(super) fn pass(&self, owner: Owner, datagram: &Datagram) -> bool {
        self.relay.pass(self.listener, owner, datagram)
    }

    /// Whether another process takes new connections.
    pub(super) fn has_successor(&self) -> bool {
        self.relay.has_successor(self.listener)
    }
}
