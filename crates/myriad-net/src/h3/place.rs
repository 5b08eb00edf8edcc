//! The sockets of a listener, and where its worker stands among others.

use std::sync::Arc;

use super::crossing::Crossing;
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
}
