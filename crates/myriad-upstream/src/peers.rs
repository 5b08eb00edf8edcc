//! Immutable list of the peers of a group (`upstream`).

use std::sync::Arc;

use crate::config::PeerConfig;
use crate::peer::{PeerSnapshot, PeerState};
use crate::ring::Ring;

/// Immutable list of the peers of a group; a change of the group creates a new list. A request retains the list from
/// which its peer was chosen. All vectors have the same order.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    pub(crate) configs: Vec<PeerConfig>,
    /// Formatted address of each peer (`$upstream_addr`); created once because every request records it.
    pub(crate) display_addresses: Vec<Arc<str>>,
    /// Identifier of each peer in the group, and identifier of the server whose name resolved to the peer; `None` for a
    /// server with an address.
    pub(crate) ids: Vec<(u64, Option<u64>)>,
    /// Run-time state of each peer, shared by all lists that contain the peer.
    pub(crate) states: Vec<Arc<PeerState>>,
    /// `sticky` identifier of each peer; empty without `sticky`.
    pub(crate) sids: Vec<Arc<str>>,
    /// True if any peer has `slow_start`.
    pub(crate) has_slow_start: bool,
    /// Hash ring of `hash ... consistent`; `None` for other algorithms.
    pub(crate) ring: Option<Ring>,
}

impl Peers {
    /// Returns the state of each peer at `now` for status pages.
    pub(crate) fn snapshots(&self, now: u64) -> impl Iterator<Item = PeerSnapshot> {
        let peers = self.configs.iter().zip(&self.states).zip(&self.ids);
        peers.map(move |((config, state), id)| state.snapshot(config, now, *id))
    }

    /// Returns the index of the peer whose state has this identifier; `None` if the list does not contain it.
    pub(crate) fn position(&self, id: u64) -> Option<usize> {
        self.states.iter().position(|state| state.id == id)
    }
}
