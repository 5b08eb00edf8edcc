//! Registry of state that persists over reloads: peers, resolved names, edited servers and sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::PeerAddress;
use crate::edited_servers::EditedServers;
use crate::peer::PeerState;
use crate::resolved_server::ResolvedServer;
use crate::sessions::Sessions;

/// Last result of the resolution of a name. It provides the initial peers of groups created after a reload.
#[derive(Debug, Default)]
pub(crate) struct LastResolution(Mutex<Newest>);

#[derive(Debug, Default)]
struct Newest {
    /// Number of the roster (group of peers in one configuration) that stored the result; 0 for none.
    writer: u64,
    members: Vec<ResolvedServer>,
}

impl LastResolution {
    /// Returns the resolved servers; empty before the first result.
    pub(crate) fn members(&self) -> Vec<ResolvedServer> {
        self.lock().members.clone()
    }

    /// Stores the resolved servers of the roster `writer`, unless a newer roster has stored a result, because an older
    /// roster may use name servers that are no longer configured.
    pub(crate) fn note(&self, writer: u64, members: &[ResolvedServer]) {
        let mut newest = self.lock();
        if writer >= newest.writer {
            *newest = Newest { writer, members: members.to_vec() };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Newest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Registry of the states of all peers, created once per process. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct PeerStates(Arc<States>);

#[derive(Debug, Default)]
struct States {
    peers: Mutex<HashMap<(String, PeerAddress, usize), Arc<PeerState>>>,
    /// Last resolution results by group name and resolved name.
    names: Mutex<HashMap<(String, String), Arc<LastResolution>>>,
    /// Servers edited by administrators, by group name.
    edited: Mutex<HashMap<String, Arc<EditedServers>>>,
    /// Sticky sessions by group name and zone name (`sticky learn zone=`).
    sessions: Mutex<HashMap<(String, String), Arc<Sessions>>>,
}

impl PeerStates {
    /// Creates a registry without states.
    pub fn new() -> Self {
        Self::default()
    }

    /// Removes all states that no group uses, and closes the idle FastCGI connections of removed peers.
    pub fn prune(&self) {
        self.lock().retain(|_, state| Arc::strong_count(state) > 1);
        self.names().retain(|_, known| Arc::strong_count(known) > 1);
        self.all_sessions().retain(|_, sessions| Arc::strong_count(sessions) > 1);
        self.all_edited().retain(|_, edited| Arc::strong_count(edited) > 1);
    }

    /// Returns the changes of administrators to the servers of a group.
    pub(crate) fn edited(&self, group: &str) -> Arc<EditedServers> {
        self.all_edited().entry(group.to_owned()).or_default().clone()
    }

    fn all_edited(&self) -> MutexGuard<'_, HashMap<String, Arc<EditedServers>>> {
        self.0.edited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the last resolution result of a name; empty for a new name.
    pub(crate) fn last_resolution(&self, group: &str, host: &str) -> Arc<LastResolution> {
        self.names().entry((group.to_owned(), host.to_owned())).or_default().clone()
    }

    /// Returns the sticky sessions of a group in a zone of `bytes` bytes. Existing sessions are retained; if they
    /// exceed the zone, the sessions without a response for the longest time are evicted.
    pub fn sessions(&self, group: &str, zone: &str, bytes: u64) -> Arc<Sessions> {
        let mut all = self.all_sessions();
        let made = || Arc::new(Sessions::new(bytes));
        let sessions = all.entry((group.to_owned(), zone.to_owned())).or_insert_with(made);
        sessions.resize(bytes);
        Arc::clone(sessions)
    }

    fn all_sessions(&self) -> MutexGuard<'_, HashMap<(String, String), Arc<Sessions>>> {
        self.0.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn names(&self) -> MutexGuard<'_, HashMap<(String, String), Arc<LastResolution>>> {
        self.0.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of a peer, and creates it if it is new. `occurrence` is the number of preceding servers of the
    /// group with the same address: as in nginx, each has a separate state.
    pub(crate) fn peer(&self, group: &str, address: &PeerAddress, occurrence: usize) -> Arc<PeerState> {
        self.lock().entry((group.to_owned(), address.clone(), occurrence)).or_default().clone()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(String, PeerAddress, usize), Arc<PeerState>>> {
        self.0.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
