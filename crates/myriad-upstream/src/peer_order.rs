//! Orders of administrators for a peer, which override the configuration.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::config::PeerConfig;

/// Order of an administrator for a peer; overrides the configuration until the next order, or until a change of the
/// server's `down` or `drain` at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerOrder {
    /// The peer gets its normal share of requests, even if it is configured with `down` or `drain`.
    Up,
    /// The peer gets only requests with its `sticky` identifier.
    Drain,
    /// The peer gets no requests; active requests can complete.
    Down,
}

/// Current order of an administrator for a peer; without an order, the configuration decides.
#[derive(Debug, Default)]
pub(crate) struct CurrentOrder(AtomicU8);

const UP: u8 = 1;
const DRAIN: u8 = 2;
const DOWN: u8 = 3;

impl CurrentOrder {
    /// Sets an administrator's order. `Up` for a peer without `down` and `drain` removes the order, so that a later
    /// configuration applies.
    pub(crate) fn set(&self, order: PeerOrder, config: &PeerConfig) {
        let code = match order {
            PeerOrder::Up if !config.down && !config.drain => 0,
            PeerOrder::Up => UP,
            PeerOrder::Drain => DRAIN,
            PeerOrder::Down => DOWN,
        };
        self.0.store(code, Relaxed);
    }

    /// Removes the administrator's order, so that the configuration applies.
    pub(crate) fn forget(&self) {
        self.0.store(0, Relaxed);
    }

    /// Returns whether the peer must not get requests, by the order or else by the configuration.
    pub(crate) fn is_down(&self, config: &PeerConfig) -> bool {
        match self.0.load(Relaxed) {
            0 => config.down,
            code => code == DOWN,
        }
    }

    /// Returns whether the peer gets only requests with its `sticky` identifier, by the order or else by the
    /// configuration.
    pub(crate) fn drains(&self, config: &PeerConfig) -> bool {
        match self.0.load(Relaxed) {
            0 => config.drain,
            code => code == DRAIN,
        }
    }

    /// Returns whether an administrator's order overrides the configuration.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Relaxed) != 0
    }
}
