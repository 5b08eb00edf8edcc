//! A group of peers: nginx's `upstream`.

use std::sync::Arc;

use myriad_conf::model::Balance;

use crate::balance::{Choice, Tried};
use crate::clock;
use crate::config::{GroupConfig, PeerConfig};
use crate::line::Line;
use crate::peer::{Active, PeerSnapshot, PeerState};
use crate::peer_states::PeerStates;
use crate::peers::Peers;
use crate::request::Affinity;
use crate::roster::{Now, Roster};

/// A group of peers, ready for requests; workers share it.
#[derive(Debug)]
pub struct Group {
    pub(crate) config: GroupConfig,
    /// Its name, as tries are told it.
    label: Arc<str>,
    /// Its lock also makes one choice at a time of what workers choose at once.
    pub(crate) roster: Arc<Roster>,
    /// The requests that wait for a peer.
    pub(crate) line: Line,
}

/// What a choice among the peers came to.
pub(crate) enum Choosing {
    /// A peer, and one of the requests that it may have.
    Peer(Pick),
    /// The peers that could be asked have as many requests as they may have.
    Full,
    /// All others are down, failing or tried.
    Nobody,
}

impl Choosing {
    /// The peer, where there is one.
    pub(crate) fn peer(self) -> Option<Pick> {
        match self {
            Self::Peer(pick) => Some(pick),
            Self::Full | Self::Nobody => None,
        }
    }
}

/// The peer for one try.
pub(crate) struct Pick {
    pub(crate) chosen: Chosen,
    pub(crate) active: Active,
}

/// A peer of the list that it was chosen of.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    peers: Arc<Peers>,
    pub(crate) index: usize,
}

impl Chosen {
    pub(crate) fn config(&self) -> &PeerConfig {
        &self.peers.configs[self.index]
    }

    /// Its address as it is shown (`$upstream_addr`).
    pub(crate) fn shown(&self) -> Arc<str> {
        Arc::clone(&self.peers.shown[self.index])
    }

    /// What requests call it by; none without `sticky`.
    pub(crate) fn sid(&self) -> Option<&Arc<str>> {
        self.peers.sids.get(self.index)
    }

    /// The one peer of a list.
    pub(crate) fn of(peers: Arc<Peers>) -> Self {
        Self { peers, index: 0 }
    }

    /// It is asked how it is, which is no request of a visitor.
    pub(crate) fn probed(&self) -> Active {
        Active::uncounted(Arc::clone(&self.peers.states[self.index]))
    }

    pub(crate) fn succeeded(&self) {
        self.state().succeeded(self.config(), clock::now());
    }

    pub(crate) fn state(&self) -> &PeerState {
        &self.peers.states[self.index]
    }
}

impl Group {
    /// A group whose peers keep the health that `states` has for them.
    pub fn new(config: GroupConfig, states: &PeerStates) -> Self {
        let line = Line::new();
        let served = config.queue.is_some().then(|| line.clone());
        let roster = Arc::new(Roster::new(&config, states, served));
        let label = config.name.as_str().into();
        Self { config, label, roster, line }
    }

    /// The name it was configured with.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    /// The peers as they are configured, in the order of [`Self::peers`].
    pub fn peer_configs(&self) -> Vec<PeerConfig> {
        self.roster.peers().configs.clone()
    }

    /// How the peers are doing, in the order of the configuration; those that names stand for come last.
    pub fn peers(&self) -> Vec<PeerSnapshot> {
        self.control().peers(None)
    }

    /// A failure of the peer at a place of the list.
    #[cfg(test)]
    pub(crate) fn fail(&self, index: usize) {
        self.failed(&Chosen { peers: self.roster.peers(), index });
    }

    #[cfg(test)]
    pub(crate) fn states(&self) -> Vec<Arc<PeerState>> {
        self.roster.peers().states.clone()
    }

    /// How many peers may be tried for one request.
    pub(crate) fn size(&self) -> usize {
        let peers = self.roster.peers();
        peers.configs.iter().zip(&peers.states).filter(|(peer, state)| !state.ordered.is_down(peer)).count()
    }

    /// Chooses a peer that was not tried yet.
    pub(crate) fn pick(&self, tried: &mut Tried, affinity: &Affinity) -> Choosing {
        self.pick_asked(tried, affinity, None)
    }

    /// Chooses a peer that was not tried yet: the one that is asked for, if it can be had.
    pub(crate) fn pick_asked(&self, tried: &mut Tried, affinity: &Affinity, sid: Option<&[u8]>) -> Choosing {
        let time = clock::now();
        let mut now = self.roster.lock();
        let Now { peers, weights, .. } = &mut *now;
        let choice = Choice { balance: self.config.balance, peers, now: time };
        let Some(index) = choice.choose(weights, tried, (affinity, sid)) else {
            return if choice.is_full(tried) { Choosing::Full } else { Choosing::Nobody };
        };
        let state = &peers.states[index];
        tried.add(state);
        let active = state.chosen(&peers.configs[index], time);
        if let Balance::LeastTime { moment, inflight: true } = self.config.balance {
            active.is_inflight_until(moment, time);
        }
        Choosing::Peer(Pick { chosen: Chosen { peers: Arc::clone(peers), index }, active })
    }

    pub(crate) fn failed(&self, chosen: &Chosen) {
        chosen.state().failed(chosen.config(), clock::now());
        let mut now = self.roster.lock();
        // One that has gone meanwhile has no share.
        if let Some(place) = now.peers.place(chosen.state().id) {
            now.weights.failed(place, chosen.config());
        }
    }

    /// When no peer is left the next request tries them all again, so that a site whose every peer failed once is
    /// not down for all of `fail_timeout`.
    pub(crate) fn forgive_all(&self) {
        self.roster.peers().states.iter().for_each(|state| state.reset());
    }
}
