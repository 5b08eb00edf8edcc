//! The peers of a group at one time.

use std::sync::Arc;

use crate::config::PeerConfig;
use crate::peer::{PeerSnapshot, PeerState};
use crate::ring::Ring;

/// A list of peers, which is never changed: another one takes its place. A request keeps the list that its peer was chosen of.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    pub(crate) configs: Vec<PeerConfig>,
    /// How the address of each is shown (`$upstream_addr`); made once, since every request notes it.
    pub(crate) shown: Vec<Arc<str>>,
    /// The number of each in the group, and of the server whose name stands for it.
    pub(crate) ids: Vec<(u64, Option<u64>)>,
    /// How each is doing.
    pub(crate) states: Vec<Arc<PeerState>>,
    /// What requests call each by; empty without `sticky`.
    pub(crate) sids: Vec<Arc<str>>,
    /// Whether any has `slow_start`.
    pub(crate) start_slowly: bool,
    /// The points of a consistent `hash`.
    pub(crate) ring: Option<Ring>,
}

impl Peers {
    /// How each is doing, at a moment of the process's clock.
    pub(crate) fn snapshots(&self, now: u64) -> impl Iterator<Item = PeerSnapshot> {
        let peers = self.configs.iter().zip(&self.states).zip(&self.ids);
        peers.map(move |((config, state), id)| state.snapshot(config, now, *id))
    }

    /// The place of a peer in this list, by its state.
    pub(crate) fn place(&self, id: u64) -> Option<usize> {
        self.states.iter().position(|state| state.id == id)
    }
}
