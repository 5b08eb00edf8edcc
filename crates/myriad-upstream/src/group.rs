//! A group of peers: nginx's `upstream`.

use std::sync::{Arc, Mutex, PoisonError};

use crate::address::Address;
use crate::balance::{Balance, Choice, Ring, Tried, Weights};
use crate::clock;
use crate::line::Line;
use crate::peer::{Active, PeerConfig, PeerSnapshot, PeerState};
use crate::registry::Registry;
use crate::request::Affinity;

/// How idle connections are kept (`keepalive` and its kin).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Most idle FastCGI connections to a peer, 0 for none (`keepalive`): for the whole process, so give at most half
    /// of php-fpm's children.
    pub connections: usize,
    /// Most idle HTTP connections to a peer for each worker, 0 for none (`keepalive`).
    pub http: usize,
    /// Most requests over one connection (`keepalive_requests`).
    pub requests: u32,
    /// Longest life of a connection in milliseconds (`keepalive_time`).
    pub time_ms: u64,
    /// Longest idleness in milliseconds (`keepalive_timeout`).
    pub timeout_ms: u64,
    /// Longest idleness of a FastCGI connection in milliseconds, where that is shorter: it holds a php-fpm child that
    /// serves nobody meanwhile.
    pub fastcgi_timeout_ms: u64,
}

impl Default for KeepAlive {
    /// Off, with nginx's bounds: 1000 requests, an hour of life, a minute idle; a second over FastCGI.
    fn default() -> Self {
        Self {
            connections: 0,
            http: 0,
            requests: 1000,
            time_ms: 3_600_000,
            timeout_ms: 60_000,
            fastcgi_timeout_ms: 1000,
        }
    }
}

/// Where requests wait while every peer has as many as it may have (`queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Most requests that wait at once.
    pub most: usize,
    /// Longest wait in milliseconds (`timeout=`).
    pub timeout_ms: u64,
}

/// The configuration of a [`Group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// The name: of the `upstream` block, or the address where there is none. Health is kept under it.
    pub name: String,
    /// The peers in the order of the file.
    pub peers: Vec<PeerConfig>,
    /// How to choose among them.
    pub balance: Balance,
    /// How to keep connections.
    pub keepalive: KeepAlive,
    /// Where requests wait for a peer (`queue`); `None` answers at once that there is none.
    pub queue: Option<Queue>,
}

impl GroupConfig {
    /// A group of one peer, named after its address: what `fastcgi_pass ADDRESS` means.
    pub fn single(address: Address) -> Self {
        Self {
            name: address.to_string(),
            peers: vec![PeerConfig::new(address)],
            balance: Balance::default(),
            keepalive: KeepAlive::default(),
            queue: None,
        }
    }
}

/// A group of peers, ready for requests; workers share it.
#[derive(Debug)]
pub struct Group {
    pub(crate) config: GroupConfig,
    states: Vec<Arc<PeerState>>,
    /// Also makes one choice at a time of what workers choose at once.
    weights: Mutex<Weights>,
    ring: Option<Ring>,
    /// Those who wait for a peer.
    pub(crate) line: Line,
}

/// What a choice among the peers came to.
pub(crate) enum Choosing<'a> {
    /// A peer, and one of the requests that it may have.
    Peer(Pick<'a>),
    /// Those that could be asked have as many requests as they may have.
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
    /// A group whose peers keep the health that `registry` has for them.
    pub fn new(config: GroupConfig, registry: &Registry) -> Self {
        let occurrence = |index: usize| {
            let peers = &config.peers;
            peers[..index].iter().filter(|peer| peer.address == peers[index].address).count()
        };
        let peers = config.peers.iter().enumerate();
        let states: Vec<_> = peers
            .map(|(index, peer)| registry.peer(&config.name, &peer.address, occurrence(index)))
            .collect();
        let line = Line::new();
        if config.queue.is_some() {
            for state in &states {
                state.serve_line(&line);
            }
        }
        let weights = Mutex::new(Weights::new(&config.peers));
        let ring = (config.balance == Balance::ConsistentHash).then(|| Ring::new(&config.peers));
        Self { config, states, weights, ring, line }
    }

    /// The name it was configured with.
    pub fn name(&self) -> &str {
        &self.config.name
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
