//! What outlives a reload: the state of peers, by the name of their group and their address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::address::Address;
use crate::edited::EditedServers;
use crate::member::Member;
use crate::peer::PeerState;
use crate::sessions::Sessions;

/// What a name stood for last, for groups that begin after a reload; those that run have lists of their own.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Newest>);

#[derive(Debug, Default)]
struct Newest {
    /// The number of the roster that wrote it, 0 for none.
    writer: u64,
    members: Vec<Member>,
}

impl Known {
    /// The servers.
    pub(crate) fn members(&self) -> Vec<Member> {
        self.lock().members.clone()
    }

    /// Notes the servers, unless a newer roster did: an older one may ask name servers that are no longer configured.
    pub(crate) fn note(&self, writer: u64, members: &[Member]) {
        let mut newest = self.lock();
        if writer >= newest.writer {
            *newest = Newest { writer, members: members.to_vec() };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Newest> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The states of all peers; the embedder keeps one for the life of the process. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct PeerStates(Arc<States>);

#[derive(Debug, Default)]
struct States {
    peers: Mutex<HashMap<(String, Address, usize), Arc<PeerState>>>,
    /// By the name of a group and the name that was looked up for it.
    names: Mutex<HashMap<(String, String), Arc<Known>>>,
    /// By the name of a group.
    edited: Mutex<HashMap<String, Arc<EditedServers>>>,
    /// By the name of a group and of the zone (`sticky learn zone=`).
    sessions: Mutex<HashMap<(String, String), Arc<Sessions>>>,
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
        self.all_sessions().retain(|_, sessions| Arc::strong_count(sessions) > 1);
        self.all_edited().retain(|_, edited| Arc::strong_count(edited) > 1);
    }

    /// What administrators have made of the servers of a group.
    pub(crate) fn edited(&self, group: &str) -> Arc<EditedServers> {
        self.all_edited().entry(group.to_owned()).or_default().clone()
    }

    fn all_edited(&self) -> MutexGuard<'_, HashMap<String, Arc<EditedServers>>> {
        self.0.edited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a name stood for last: nothing yet, where it is new.
    pub(crate) fn known(&self, group: &str, host: &str) -> Arc<Known> {
        self.names().entry((group.to_owned(), host.to_owned())).or_default().clone()
    }

    /// The sessions of a group in a zone of so many bytes: those of before a reload, if there were any.
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

    fn names(&self) -> MutexGuard<'_, HashMap<(String, String), Arc<Known>>> {
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
