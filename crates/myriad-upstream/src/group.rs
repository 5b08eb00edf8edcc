//! A group of peers: nginx's `upstream`.

use myriad_conf::model::Balance;
use std::sync::{Arc, Mutex, PoisonError};

use crate::balance::{Choice, Ring, Tried, Weights};
use crate::clock;
use crate::config::{GroupConfig, PeerConfig};
use crate::line::Line;
use crate::peer::{Active, PeerSnapshot, PeerState};
use crate::peer_states::PeerStates;
use crate::request::Affinity;

/// A group of peers, ready for requests; workers share it.
#[derive(Debug)]
pub struct Group {
    pub(crate) config: GroupConfig,
    /// Its name, as tries are told it.
    label: Arc<str>,
    states: Vec<Arc<PeerState>>,
    /// Also makes one choice at a time of what workers choose at once.
    weights: Mutex<Weights>,
    ring: Option<Ring>,
    /// The requests that wait for a peer.
    pub(crate) line: Line,
}

/// What a choice among the peers came to.
pub(crate) enum Choosing<'a> {
    /// A peer, and one of the requests that it may have.
    Peer(Pick<'a>),
    /// The peers that could be asked have as many requests as they may have.
    Full,
    /// All others are down, failing or tried.
    Nobody,
}

impl<'a> Choosing<'a> {
    /// The peer, where there is one.
    pub(crate) fn peer(self) -> Option<Pick<'a>> {
        match self {
            Self::Peer(pick) => Some(pick),
            Self::Full | Self::Nobody => None,
        }
    }
}

/// The peer for one try.
pub(crate) struct Pick<'a> {
    pub(crate) index: usize,
    pub(crate) config: &'a PeerConfig,
    pub(crate) active: Active,
}

impl Group {
    /// A group whose peers keep the health that `states` has for them.
    pub fn new(config: GroupConfig, states: &PeerStates) -> Self {
        let occurrence = |index: usize| {
            let peers = &config.peers;
            peers[..index].iter().filter(|peer| peer.address == peers[index].address).count()
        };
        let peers = config.peers.iter().enumerate();
        let states: Vec<_> =
            peers.map(|(index, peer)| states.peer(&config.name, &peer.address, occurrence(index))).collect();
        let line = Line::new();
        if config.queue.is_some() {
            for state in &states {
                state.serve_line(&line);
            }
        }
        let weights = Mutex::new(Weights::new(&config.peers));
        let ring = (config.balance == Balance::Hash { consistent: true }).then(|| Ring::new(&config.peers));
        let label = config.name.as_str().into();
        Self { config, label, states, weights, ring, line }
    }

    /// The name it was configured with.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn label(&self) -> Arc<str> {
        Arc::clone(&self.label)
    }

    /// The peers as they were configured, in the order of the configuration.
    pub fn peer_configs(&self) -> &[PeerConfig] {
        &self.config.peers
    }

    /// How the peers are doing, in the order of the configuration.
    pub fn peers(&self) -> Vec<PeerSnapshot> {
        let now = clock::now();
        self.config
            .peers
            .iter()
            .zip(&self.states)
            .map(|(config, state)| state.snapshot(config, now))
            .collect()
    }

    #[cfg(test)]
    pub(crate) fn states(&self) -> &[Arc<PeerState>] {
        &self.states
    }

    /// How many peers may be tried for one request.
    pub(crate) fn size(&self) -> usize {
        self.config.peers.iter().filter(|peer| !peer.down).count()
    }

    /// Chooses a peer that was not tried yet.
    pub(crate) fn pick(&self, tried: &mut Tried, affinity: &Affinity) -> Choosing<'_> {
        let now = clock::now();
        let mut weights = self.weights.lock().unwrap_or_else(PoisonError::into_inner);
        let choice = Choice { config: &self.config, states: &self.states, ring: self.ring.as_ref(), now };
        let Some(index) = choice.choose(&mut weights, tried, affinity) else {
            return if choice.is_full(tried) { Choosing::Full } else { Choosing::Nobody };
        };
        tried.add(index);
        let config = &self.config.peers[index];
        let active = self.states[index].chosen(config, now);
        Choosing::Peer(Pick { index, config, active })
    }

    pub(crate) fn failed(&self, index: usize) {
        let config = &self.config.peers[index];
        self.states[index].failed(clock::now());
        self.weights.lock().unwrap_or_else(PoisonError::into_inner).failed(index, config);
    }

    pub(crate) fn succeeded(&self, index: usize) {
        self.states[index].succeeded();
    }

    /// When no peer is left the next request tries them all again, so that a site whose every peer failed once is
    /// not down for all of `fail_timeout`.
    pub(crate) fn forgive_all(&self) {
        self.states.iter().for_each(|state| state.reset());
    }
}
