//! What outlives a reload: the state of peers, by the name of their group and their address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::Address;
use crate::peer::PeerState;

/// The states of all peers; the embedder keeps one for the life of the process.
#[derive(Debug, Default)]
pub struct PeerStates {
    peers: Mutex<HashMap<(String, Address, usize), Arc<PeerState>>>,
}

impl PeerStates {
    /// No peers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the peers that no group uses any more, and closes their idle connections.
    pub fn prune(&self) {
        self.lock().retain(|_, state| Arc::strong_count(state) > 1);
    }

    /// The state of a peer, made if it is new. `occurrence` tells servers of one group apart that share an address: each
    /// is counted by itself, as in nginx.
    pub(crate) fn peer(&self, group: &str, address: &Address, occurrence: usize) -> Arc<PeerState> {
        self.lock().entry((group.to_owned(), address.clone(), occurrence)).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Address, usize), Arc<PeerState>>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
