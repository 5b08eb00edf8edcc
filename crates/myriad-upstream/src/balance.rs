//! Load balancing with nginx's algorithms.

use myriad_conf::model::{Balance, LeastMeasure};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use smallvec::SmallVec;

use crate::config::PeerConfig;
use crate::peer::PeerState;
use crate::peers::Peers;
use crate::request::Affinity;

#[cfg(test)]
mod tests;

use crate::crc32::crc32;

/// Maximum number of repeated hashes, or of random choices, that select an unusable peer before the choice falls back
/// to round robin; with `ip_hash` and `hash` without `consistent`, each tried peer allows one more, as in nginx.
const MAX_REHASHES: u32 = 20;

/// Current weights of the peers of a group for smooth round robin.
#[derive(Debug)]
pub(crate) struct Weights {
    peers: Vec<Weight>,
    /// State of the random number generator (splitmix64), seeded by the system.
    random_state: u64,
}

#[derive(Debug)]
struct Weight {
    current: i64,
    /// Effective weight of the peer: [`Weights::failed`] lowers it; each round robin in which the peer takes part
    /// raises it by one, up to the configured weight.
    effective: i64,
}

impl Weights {
    pub(crate) fn new(peers: &[PeerConfig]) -> Self {
        let peers = peers.iter().map(|peer| Weight { current: 0, effective: weight(peer) }).collect();
        Self { peers, random_state: RandomState::new().hash_one(0) }
    }

    /// Adapts to a new list of peers. A peer in both lists retains its current and effective weight, unless its
    /// configured weight has changed.
    pub(crate) fn adapt(&mut self, before: &Peers, after: &Peers) {
        let mut next = Self::new(&after.configs).peers;
        for ((state, config), kept) in before.states.iter().zip(&before.configs).zip(self.peers.drain(..)) {
            let place = after.position(state.id);
            // A changed weight takes effect immediately.
            if let Some(place) = place.filter(|place| after.configs[*place].weight == config.weight) {
                next[place] = kept;
            }
        }
        self.peers = next;
    }

    /// Lowers the effective weight of a peer after a failure, so that it gets fewer requests for some time. No effect
    /// if `max_fails` is 0 or exceeds the weight.
    pub(crate) fn failed(&mut self, index: usize, peer: &PeerConfig) {
        if peer.max_fails > 0 {
            let weight_now = &mut self.peers[index].effective;
            *weight_now = (*weight_now - weight(peer) / i64::from(peer.max_fails)).max(0);
        }
    }
}

impl Weights {
    /// Returns a random number below `bound`, which must be above 0; nearly uniform.
    fn random_below(&mut self, bound: i64) -> i64 {
        self.random_state = self.random_state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random_state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 33) as i64 % bound
    }
}

fn weight(peer: &PeerConfig) -> i64 {
    i64::from(peer.weight.max(1))
}

/// Peers that a request has tried, identified by their states because the list of peers may change meanwhile.
#[derive(Debug, Default)]
pub(crate) struct TriedPeers(SmallVec<[u64; 4]>);

impl TriedPeers {
    pub(crate) fn add(&mut self, peer: &PeerState) {
        self.0.push(peer.id);
    }

    fn has(&self, peer: &PeerState) -> bool {
        self.0.contains(&peer.id)
    }

    /// Returns the maximum number of hashes for a choice by `ip_hash` or `hash` without `consistent`: 21 and, as in
    /// nginx, one more for each tried peer.
    fn hashes(&self) -> u32 {
        MAX_REHASHES + 1 + u32::try_from(self.0.len()).unwrap_or(0)
    }
}

/// Inputs of the choice of a peer: the algorithm, the current peers and the time.
pub(crate) struct PeerSelection<'a> {
    pub(crate) balance: Balance,
    pub(crate) peers: &'a Peers,
    pub(crate) now: u64,
}

impl PeerSelection<'_> {
    /// Returns the index of the peer for the next attempt; `None` if no peer is usable. A usable peer with the `sticky`
    /// identifier `sid` takes precedence over the algorithm. Backups are used only if no other peer is usable.
    pub(crate) fn choose(
        &self,
        weights: &mut Weights,
        tried: &TriedPeers,
        (affinity, sid): (&Affinity, Option<&[u8]>),
    ) -> Option<usize> {
        if let Some(selected) = self.selected_peer(tried, sid, false) {
            return Some(selected);
        }
        let hashed = match (self.balance, affinity) {
            (Balance::IpHash, Affinity::Client(address)) => self.by_ip_hash(tried, *address),
            // An empty key identifies nothing, so round robin is used.
            (Balance::Hash { consistent: false }, Affinity::Key(key)) if !key.is_empty() => {
                self.by_key(tried, key)
            }
            (Balance::Hash { consistent: true }, Affinity::Key(key)) => {
                self.by_consistent_hash(weights, tried, key)
            }
            (Balance::Random { two: None }, _) => self.by_random(weights, tried),
            (Balance::Random { two: Some(least) }, _) => self.by_random_two(weights, tried, least),
            _ => None,
        };
        hashed
            .or_else(|| self.pick_balanced(weights, &self.usable(tried, false)))
            .or_else(|| self.selected_peer(tried, sid, true))
            .or_else(|| self.pick_balanced(weights, &self.usable(tried, true)))
    }

    /// Returns the usable peer whose `sticky` identifier is `sid`, even if it is draining; `None` if `sid` is `None`,
    /// or if no usable peer has this identifier. Of several such peers, returns the peer with the fewest active
    /// requests. Considers only backups if `backup` is set, otherwise only other peers. The weights of round robin do
    /// not change.
    fn selected_peer(&self, tried: &TriedPeers, sid: Option<&[u8]>, backup: bool) -> Option<usize> {
        let sid = sid?;
        let named = self.peers.sids.iter().enumerate().filter(|(_, own)| own.as_bytes() == sid);
        let usable = named.map(|(index, _)| index).filter(|index| {
            let (peer, state) = (&self.peers.configs[*index], &self.peers.states[*index]);
            peer.backup == backup && self.is_alive(*index, tried) && !state.is_full(peer)
        });
        usable.min_by_key(|index| self.peers.states[*index].active())
    }

    fn usable(&self, tried: &TriedPeers, backup: bool) -> SmallVec<[usize; 8]> {
        let peers = self.peers.configs.iter().enumerate();
        peers
            .filter(|(index, peer)| peer.backup == backup && self.is_usable(*index, tried))
            .map(|(index, _)| index)
            .collect()
    }

    fn is_usable(&self, index: usize, tried: &TriedPeers) -> bool {
        self.is_eligible(index, tried) && !self.peers.states[index].is_full(&self.peers.configs[index])
    }

    /// Returns whether a peer may get the request, whatever its number of active requests: it is not down, not
    /// draining, not excluded by health checks and not tried already. A peer that is excluded because of failures is
    /// only eligible if it is the only peer of the group.
    fn is_eligible(&self, index: usize, tried: &TriedPeers) -> bool {
        let (peer, state) = (&self.peers.configs[index], &self.peers.states[index]);
        !state.ordered.drains(peer) && self.is_alive(index, tried)
    }

    fn is_alive(&self, index: usize, tried: &TriedPeers) -> bool {
        let (peer, state) = (&self.peers.configs[index], &self.peers.states[index]);
        // A single peer is never excluded because of failures: no alternative exists.
        let lone = self.peers.configs.len() == 1;
        !state.ordered.is_down(peer)
            && !state.health.is_excluded()
            && !tried.has(state)
            && (lone || !state.is_failing(peer, self.now))
    }

    /// Returns whether a request should wait: at least one peer is eligible except that it has its maximum number of
    /// active requests (`max_conns`).
    pub(crate) fn is_full(&self, tried: &TriedPeers) -> bool {
        let peers = self.peers.configs.iter().enumerate();
        let mut willing = peers.filter(|(index, _)| self.is_eligible(*index, tried));
        willing.any(|(index, peer)| self.peers.states[index].is_full(peer))
    }

    fn pick_balanced(&self, weights: &mut Weights, usable: &[usize]) -> Option<usize> {
        let method = match self.balance {
            Balance::LeastConnections => LeastMeasure::Connections,
            Balance::LeastTime { moment, inflight } => {
                if inflight {
                    for index in usable {
                        self.peers.states[*index].inflight.sample(self.now);
                    }
                }
                LeastMeasure::Time(moment)
            }
            _ => return self.round_robin(weights, usable),
        };
        let is_less = |a: usize, b: usize| self.is_less(method, a, b);
        let least =
            usable.iter().copied().reduce(|best, next| if is_less(next, best) { next } else { best })?;
        let ties: SmallVec<[usize; 8]> =
            usable.iter().copied().filter(|index| !is_less(least, *index)).collect();
        self.round_robin(weights, &ties)
    }

    /// Returns whether the load of peer `a`, divided by its weight, is below that of peer `b`.
    fn is_less(&self, least: LeastMeasure, a: usize, b: usize) -> bool {
        let load = |index: usize| {
            let (state, config) = (&self.peers.states[index], &self.peers.configs[index]);
            let active = i128::from(state.active());
            match least {
                LeastMeasure::Connections => active,
                LeastMeasure::Time(moment) => {
                    (active + 1) * i128::from(state.estimated_time(moment, config, self.now))
                }
            }
        };
        let weight = |index: usize| i128::from(weight(&self.peers.configs[index]) * self.share(index));
        load(a) * weight(b) < load(b) * weight(a)
    }

    /// Returns the factor by which the weight of a peer is multiplied: in a group with `slow_start`, thousandths (1000
    /// for a peer that is not in its slow start); 1 for all peers of another group.
    fn share(&self, index: usize) -> i64 {
        if !self.peers.has_slow_start {
            return 1;
        }
        i64::from(self.peers.states[index].share(&self.peers.configs[index], self.now))
    }

    /// Implements smooth round robin: adds the effective weight of each peer in `usable` (reduced during its slow
    /// start) to its current weight, chooses the peer with the highest current weight, and subtracts the sum of the
    /// added weights from the current weight of this peer. Also raises the effective weight of each of these peers by
    /// one, up to its configured weight. `None` if `usable` is empty.
    fn round_robin(&self, weights: &mut Weights, usable: &[usize]) -> Option<usize> {
        let mut total = 0;
        let mut best = None;
        for &index in usable {
            let running = &mut weights.peers[index];
            let gain = running.effective * self.share(index);
            running.current += gain;
            total += gain;
            if running.effective < weight(&self.peers.configs[index]) {
                running.effective += 1;
            }
            let current = running.current;
            if best.is_none_or(|(most, _)| current > most) {
                best = Some((current, index));
            }
        }
        let (_, index) = best?;
        weights.peers[index].current -= total;
        Some(index)
    }

    /// Implements nginx's `ip_hash`, in which each rehash continues from the last value: returns the first usable peer,
    /// `None` if the maximum number of hashes finds none. Of an IPv4 address, only the first three bytes count.
    fn by_ip_hash(&self, tried: &TriedPeers, address: IpAddr) -> Option<usize> {
        let octets: SmallVec<[u8; 16]> = match address {
            IpAddr::V4(address) => address.octets()[..3].into(),
            IpAddr::V6(address) => address.octets()[..].into(),
        };
        let mut hash = 89;
        (0..tried.hashes()).find_map(|_| {
            hash = octets.iter().fold(hash, |hash, octet| (hash * 113 + u32::from(*octet)) % 6271);
            self.at_weight(hash).filter(|index| self.is_usable(*index, tried))
        })
    }

    /// Implements nginx's `hash` without `consistent`: a peer is chosen by the CRC-32 of the key; each rehash prepends
    /// its number to the key. `None` if the maximum number of hashes finds no usable peer.
    fn by_key(&self, tried: &TriedPeers, key: &[u8]) -> Option<usize> {
        let mut hash = 0_u32;
        (0..tried.hashes()).find_map(|rehash| {
            let prefix = if rehash == 0 { String::new() } else { rehash.to_string() };
            hash = hash.wrapping_add((crc32(&[prefix.as_bytes(), key]) >> 16) & 0x7fff);
            self.at_weight(hash).filter(|index| self.is_usable(*index, tried))
        })
    }

    /// Returns a peer of the server that follows the key on the hash ring, by round robin between its addresses.
    /// Servers without a usable peer are skipped. `None` for an empty key, or if none of the next 21 points of the ring
    /// has a usable peer.
    fn by_consistent_hash(&self, weights: &mut Weights, tried: &TriedPeers, key: &[u8]) -> Option<usize> {
        let ring = self.peers.ring.as_ref().filter(|_| !key.is_empty())?;
        let start = ring.find(key);
        (0..=MAX_REHASHES as usize).find_map(|step| {
            let server = ring.server(start + step)?;
            let name = &self.peers.configs[server].name;
            let peers = self.peers.configs.iter().enumerate();
            let usable: SmallVec<[usize; 8]> = peers
                .filter(|(index, peer)| !peer.backup && peer.name == *name && self.is_usable(*index, tried))
                .map(|(index, _)| index)
                .collect();
            self.round_robin(weights, &usable)
        })
    }

    /// Returns a random usable peer, with a probability proportional to its weight; `None` if [`MAX_REHASHES`] random
    /// choices hit unusable peers, or if all peers are backups.
    fn by_random(&self, weights: &mut Weights, tried: &TriedPeers) -> Option<usize> {
        let total = self.total_weight();
        if total == 0 {
            return None;
        }
        (0..MAX_REHASHES).find_map(|_| {
            let point = weights.random_below(total);
            self.at_weight(point as u32).filter(|index| self.is_usable(*index, tried))
        })
    }

    fn by_random_two(&self, weights: &mut Weights, tried: &TriedPeers, least: LeastMeasure) -> Option<usize> {
        let first = self.by_random(weights, tried)?;
        let second =
            (0..MAX_REHASHES).find_map(|_| self.by_random(weights, tried).filter(|second| *second != first));
        let Some(second) = second else { return Some(first) };
        Some(if self.is_less(least, first, second) { first } else { second })
    }

    /// Returns the sum of the weights of all peers except backups.
    fn total_weight(&self) -> i64 {
        self.peers.configs.iter().filter(|peer| !peer.backup).map(weight).sum()
    }

    /// Returns the index of the peer at position `hash` modulo the total weight; each peer except backups has as many
    /// positions as its weight. `None` if all peers are backups.
    fn at_weight(&self, hash: u32) -> Option<usize> {
        let peers = || self.peers.configs.iter().enumerate().filter(|(_, peer)| !peer.backup);
        let mut point = i64::from(hash).checked_rem(self.total_weight())?;
        for (index, peer) in peers() {
            point -= weight(peer);
            if point < 0 {
                return Some(index);
            }
        }
        None
    }
}
