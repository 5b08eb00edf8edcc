//! What administrators want of a peer, whatever the configuration says of it.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::config::PeerConfig;

/// What an administrator wants of a peer, up to the next order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerOrder {
    /// It gets its share, even if the configuration says `down` or `drain`.
    Up,
    /// Only requests that ask for it come to it (`sticky`).
    Drain,
    /// No request comes to it; those under way end in peace.
    Down,
}

/// The order that holds for a peer: none where nobody has given one, so that the configuration decides.
#[derive(Debug, Default)]
pub(crate) struct Ordered(AtomicU8);

const UP: u8 = 1;
const DRAIN: u8 = 2;
const DOWN: u8 = 3;

impl Ordered {
    /// Obeys an order. What the configuration says anyway is no order: a later configuration may say something else.
    pub(crate) fn set(&self, order: PeerOrder, config: &PeerConfig) {
        let code = match order {
            PeerOrder::Up if !config.down && !config.drain => 0,
            PeerOrder::Up => UP,
            PeerOrder::Drain => DRAIN,
            PeerOrder::Down => DOWN,
        };
        self.0.store(code, Relaxed);
    }

    /// No order holds any more.
    pub(crate) fn forget(&self) {
        self.0.store(0, Relaxed);
    }

    /// Whether no request may come.
    pub(crate) fn is_down(&self, config: &PeerConfig) -> bool {
        match self.0.load(Relaxed) {
            0 => config.down,
            code => code == DOWN,
        }
    }

    /// Whether only requests may come that ask for the peer.
    pub(crate) fn drains(&self, config: &PeerConfig) -> bool {
        match self.0.load(Relaxed) {
            0 => config.drain,
            code => code == DRAIN,
        }
    }

    /// Whether an order holds.
    pub(crate) fn is_given(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}
