//! Group of peers: nginx's `upstream`.

use std::sync::Arc;

use myriad_conf::model::Balance;

use crate::balance::{PeerSelection, TriedPeers};
use crate::clock;
use crate::config::{GroupConfig, PeerConfig};
use crate::peer::{ActiveRequest, PeerSnapshot, PeerState};
use crate::peer_states::PeerStates;
use crate::peers::Peers;
use crate::request::Affinity;
use crate::roster::{Roster, RosterState};
use crate::wait_queue::WaitQueue;

/// Group of peers (an `upstream` block or a single address), ready for requests. All workers share it.
#[derive(Debug)]
pub struct Group {
    pub(crate) config: GroupConfig,
    /// Name of the group as a shared string, which attempts store.
    label: Arc<str>,
    /// Current list of the group's peers; its lock also serializes the choices of all workers.
    pub(crate) roster: Arc<Roster>,
    /// Queue of requests that wait for a peer (`queue`).
    pub(crate) wait_queue: WaitQueue,
}

/// Result of the choice of a peer for a request.
pub(crate) enum PeerChoice {
    /// The chosen peer, whose number of active requests includes this request.
    Peer(PickedPeer),
    /// Every eligible peer has its maximum number of requests (`max_conns`).
    Full,
    /// No peer is eligible: each is down, draining, excluded by health checks, failing or already tried, or the group
    /// has no peers yet.
    NoPeer,
}

impl PeerChoice {
    /// Returns the peer, if one was chosen; otherwise `None`.
    pub(crate) fn peer(self) -> Option<PickedPeer> {
        match self {
            Self::Peer(pick) => Some(pick),
            Self::Full | Self::NoPeer => None,
        }
    }
}

/// Peer for an attempt, with the guard that counts its request.
pub(crate) struct PickedPeer {
    pub(crate) chosen: SelectedPeer,
    pub(crate) active: ActiveRequest,
}

/// Chosen peer: its index, and the list of peers from which it was chosen.
#[derive(Clone, Debug)]
pub(crate) struct SelectedPeer {
    peers: Arc<Peers>,
    pub(crate) index: usize,
}

impl SelectedPeer {
    pub(crate) fn config(&self) -> &PeerConfig {
        &self.peers.configs[self.index]
    }

    /// Returns the address of the peer as in `$upstream_addr`.
    pub(crate) fn display_address(&self) -> Arc<str> {
        Arc::clone(&self.peers.display_addresses[self.index])
    }

    /// Returns the `sticky` identifier of the peer; `None` without `sticky`.
    pub(crate) fn sid(&self) -> Option<&Arc<str>> {
        self.peers.sids.get(self.index)
    }

    /// Selects the first peer of a list.
    pub(crate) fn of(peers: Arc<Peers>) -> Self {
        Self { peers, index: 0 }
    }

    /// Starts the request of a health check, which is not counted as a client request.
    pub(crate) fn begin_probe(&self) -> ActiveRequest {
        ActiveRequest::uncounted(Arc::clone(&self.peers.states[self.index]))
    }

    /// Records a successful attempt.
    pub(crate) fn succeeded(&self) {
        self.state().succeeded(self.config(), clock::now());
    }

    pub(crate) fn state(&self) -> &PeerState {
        &self.peers.states[self.index]
    }
}

impl Group {
    /// Creates a group; its peers retain the health that `states` has stored for them.
    pub fn new(config: GroupConfig, states: &PeerStates) -> Self {
        let line = WaitQueue::new();
        let served = config.queue.is_some().then(|| line.clone());
        let roster = Arc::new(Roster::new(&config, states, served));
        let label = config.name.as_str().into();
        Self { config, label, roster, wait_queue: line }
    }

    /// Returns the name of the group in the configuration.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    /// Returns the configuration of the peers, in the order of [`Self::peers`].
    pub fn peer_configs(&self) -> Vec<PeerConfig> {
        self.roster.peers().configs.clone()
    }

    /// Returns the state of the peers in the order of the configuration; peers of names resolved at run time are last.
    pub fn peers(&self) -> Vec<PeerSnapshot> {
        self.control().peers(None)
    }

    /// Records a failure of the peer at an index of the current list.
    #[cfg(test)]
    pub(crate) fn fail(&self, index: usize) {
        self.failed(&SelectedPeer { peers: self.roster.peers(), index });
    }

    #[cfg(test)]
    pub(crate) fn states(&self) -> Vec<Arc<PeerState>> {
        self.roster.peers().states.clone()
    }

    /// Returns the number of peers that are not `down`: the maximum number of attempts for a request.
    pub(crate) fn size(&self) -> usize {
        let peers = self.roster.peers();
        peers.configs.iter().zip(&peers.states).filter(|(peer, state)| !state.ordered.is_down(peer)).count()
    }

    /// Chooses a peer that is not in `tried`, and adds it to `tried`.
    pub(crate) fn pick(&self, tried: &mut TriedPeers, affinity: &Affinity) -> PeerChoice {
        self.pick_preferred(tried, affinity, None)
    }

    /// Chooses a peer that is not in `tried`, and adds it to `tried`. Prefers the peer with the `sticky` identifier
    /// `sid` if it is usable.
    pub(crate) fn pick_preferred(
        &self,
        tried: &mut TriedPeers,
        affinity: &Affinity,
        sid: Option<&[u8]>,
    ) -> PeerChoice {
        let time = clock::now();
        let mut now = self.roster.lock();
        let RosterState { peers, weights, .. } = &mut *now;
        let choice = PeerSelection { balance: self.config.balance, peers, now: time };
        let Some(index) = choice.choose(weights, tried, (affinity, sid)) else {
            return if choice.is_full(tried) { PeerChoice::Full } else { PeerChoice::NoPeer };
        };
        let state = &peers.states[index];
        tried.add(state);
        let active = state.begin_request(&peers.configs[index], time);
        if let Balance::LeastTime { moment, inflight: true } = self.config.balance {
            active.is_inflight_until(moment, time);
        }
        PeerChoice::Peer(PickedPeer { chosen: SelectedPeer { peers: Arc::clone(peers), index }, active })
    }

    /// Records a failed attempt, which also lowers the effective weight of the peer, unless its `max_fails` is 0 or
    /// exceeds its weight.
    pub(crate) fn failed(&self, chosen: &SelectedPeer) {
        chosen.state().failed(chosen.config(), clock::now());
        let mut now = self.roster.lock();
        // A peer that was removed meanwhile has no weight to lower.
        if let Some(place) = now.peers.position(chosen.state().id) {
            now.weights.failed(place, chosen.config());
        }
    }

    /// Resets the failures of all peers, after a request found no usable peer. The next request tries all peers again,
    /// so that a site is not down for all of `fail_timeout` after a single failure of each peer.
    pub(crate) fn reset_all_failures(&self) {
        self.roster.peers().states.iter().for_each(|state| state.reset());
    }
}
