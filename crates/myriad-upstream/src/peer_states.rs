//! What outlives a reload: the state of peers, by the name of their group and their address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::Address;
use crate::peer::PeerState;

/// What a name stood for last; shared by the groups before and after a reload.
pub(crate) type Known = Arc<Mutex<Vec<IpAddr>>>;

/// The states of all peers; the embedder keeps one for the life of the process. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct PeerStates(Arc<States>);

#[derive(Debug, Default)]
struct States {
    peers: Mutex<HashMap<(String, Address, usize), Arc<PeerState>>>,
    /// By the name of a group and the name that was looked up for it.
    names: Mutex<HashMap<(String, String), Known>>,
}

impl PeerStates {
    /// No peers yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets the peers that no group uses any more, and closes their idle connections.
    pub fn prune(&self) {
        self.lock().retain(|_, state| Arc::strong_count(state) > 1);
        self.names().retain(|_, known| Arc::strong_count(known) > 1);
    }

    /// What a name stood for last: nothing yet, where it is new.
    pub(crate) fn known(&self, group: &str, host: &str) -> Known {
        self.names().entry((group.to_owned(), host.to_owned())).or_default().clone()
    }

    fn names(&self) -> MutexGuard<'_, HashMap<(String, String), Known>> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state of a peer, made if it is new. `occurrence` tells servers of one group apart that share an address: each
    /// is counted by itself, as in nginx.
    pub(crate) fn peer(&self, group: &str, address: &Address, occurrence: usize) -> Arc<PeerState> {
        self.lock().entry((group.to_owned(), address.clone(), occurrence)).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, Address, usize), Arc<PeerState>>> {
        self.0.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
