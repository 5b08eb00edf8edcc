//! Exchange of the use of limits (`limit_req`, `limit_conn`) between the nodes of a cluster.
//!
//! Each node counts for itself and publishes the numbers of each key at an interval. The others add these numbers to their
//! own. A message is lost if a receiver is not connected: numbers are not stored and not repeated, except those of current
//! connections.
//!
//! # Trust
//!
//! Messages are encrypted and authenticated ([`LimitRecord`]), separately for each database. A client of Valkey could still record messages and publish
//! them later, to block the visitors that they name. Therefore the numbers of a message are used only if all of these hold:
//!
//! - Its sequence number is larger than that of every message that was received from the sender's process lifetime.
//! - A message of the sender that was received at most [`FRESH_MS`] ago acknowledges a message of the receiver that was sent
//!   at most [`FRESH_MS`] before. It was therefore made after that message. No clocks of two machines are compared.
//!
//! So a message whose numbers are used is at most six seconds old, and is used once. For the second rule, each node
//! publishes a message with acknowledgements each [`HEARTBEAT_MS`], also without numbers.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};

use crate::node::ClockMs;
use crate::record::{
    Acknowledgement, ClusterSecret, LimitRecord, MAX_ACKNOWLEDGEMENTS, MAX_LIMIT_BYTES, MAX_LIMIT_KEY,
    MAX_LIMIT_ZONES, NodeName, RecordError, StartId, ZoneUsage,
};

/// Minimum time between two messages of a node, in milliseconds. With the time for the transfer, the numbers of a node are
/// in effect on the others within 100 ms.
pub const INTERVAL_MS: u64 = 80;
/// Maximum time between two messages of a node, in milliseconds. Numbers of connections are repeated after this time.
pub const HEARTBEAT_MS: u64 = 1000;
/// Time for which a message is evidence that later ones are not recorded ones, in milliseconds.
pub const FRESH_MS: u64 = 3000;

/// Maximum number of process lifetimes from which numbers are accepted.
const MAX_PEERS: usize = MAX_ACKNOWLEDGEMENTS - MAX_CANDIDATES;
/// Maximum number of process lifetimes that have not acknowledged a message of this node.
const MAX_CANDIDATES: usize = 64;

/// Number of the process lifetime of another node, which distinguishes its numbers from those of other peers. A peer that
/// was silent for a while has the same number as before, so that its connections are not counted twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PeerNumber(pub u64);

impl PeerNumber {
    /// Returns the number of a process lifetime: a part of its identity, which is random.
    fn of(start: StartId) -> Self {
        let StartId([first @ .., _, _, _, _, _, _, _, _]) = start;
        Self(u64::from_be_bytes(first))
    }
}

/// Result of [`LimitExchange::receive`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitReception {
    /// A message with numbers that must be added.
    Usage(PeerNumber, Vec<ZoneUsage>),
    /// A message of this process.
    Own,
    /// The message, or a later one of its sender, was received before.
    Repeated,
    /// The message may be a recorded one: its numbers are not used. The first message of each sender is one of these.
    NotFresh,
}

/// Exchange of one process lifetime.
#[derive(Debug)]
pub struct LimitExchange {
    secret: ClusterSecret,
    /// Database of the server that the node uses.
    database: u32,
    node: NodeName,
    start: StartId,
    /// Number of the last message of this process.
    sequence: u64,
    /// Messages of the last [`FRESH_MS`]: numbers and times.
    sent: VecDeque<(u64, ClockMs)>,
    /// Process lifetimes that have acknowledged a recent message in the last [`FRESH_MS`].
    peers: HashMap<StartId, Peer>,
    /// Process lifetimes that have not acknowledged a recent message, which are acknowledged so that they can; newest last.
    candidates: VecDeque<Acknowledgement>,
    /// Time of the next message with acknowledgements.
    heartbeat_at: ClockMs,
}

#[derive(Debug)]
struct Peer {
    /// Largest sequence number that was received.
    sequence: u64,
    /// Time at which the last message was received that acknowledges a recent one.
    proven_at: ClockMs,
}

impl LimitExchange {
    /// Creates the exchange of a process. There must be one per process lifetime: a message with a sequence number that was
    /// used before is ignored.
    pub fn new(secret: ClusterSecret, node: NodeName, start: StartId) -> Self {
        Self {
            secret,
            database: 0,
            node,
            start,
            sequence: 0,
            sent: VecDeque::new(),
            peers: HashMap::new(),
            candidates: VecDeque::new(),
            heartbeat_at: 0,
        }
    }

    /// Sets the database of the server that the node uses. Messages of nodes that use another one are not authentic.
    pub fn set_database(&mut self, database: u32) {
        self.database = database;
    }

    /// Returns true if a message must be sent also without numbers, and numbers of connections must be repeated.
    pub fn is_heartbeat_due(&self, now: ClockMs) -> bool {
        now >= self.heartbeat_at
    }

    /// Returns the message with these numbers; `None` if there are none and no heartbeat is due, or if the operating system
    /// has no random numbers. If they do not fit into one message, closed connections and the largest numbers are sent. To
    /// be called at most once per [`INTERVAL_MS`].
    pub fn message(&mut self, zones: Vec<ZoneUsage>, now: ClockMs) -> Option<Vec<u8>> {
        if zones.iter().all(|zone| zone.keys.is_empty()) && !self.is_heartbeat_due(now) {
            return None;
        }
        self.forget_silent(now);
        let mut acknowledged = Vec::new();
        if self.is_heartbeat_due(now) {
            self.heartbeat_at = now + HEARTBEAT_MS;
            let peers = self.peers.iter();
            acknowledged
                .extend(peers.map(|(&start, peer)| Acknowledgement { start, sequence: peer.sequence }));
            acknowledged.extend(self.candidates.drain(..));
        }
        let room = MAX_LIMIT_BYTES.saturating_sub(LimitRecord::base_len(&self.node, acknowledged.len()));
        self.sequence += 1;
        self.sent.push_back((self.sequence, now));
        let record = LimitRecord {
            node: self.node.clone(),
            start: self.start,
            sequence: self.sequence,
            acknowledged,
            zones: largest(zones, room),
        };
        record.encode(&self.secret, self.database)
    }

    /// Handles a message. After the first messages of a sender, the next message of this node has acknowledgements, so that
    /// both nodes use each other's numbers soon.
    ///
    /// # Errors
    /// Returns an error if the message is not authentic, or its format is invalid or unknown.
    pub fn receive(&mut self, bytes: &[u8], now: ClockMs) -> Result<LimitReception, RecordError> {
        let record = LimitRecord::decode(&self.secret, self.database, bytes)?;
        if record.start == self.start {
            return Ok(LimitReception::Own);
        }
        self.forget_silent(now);
        let LimitRecord { start, sequence, acknowledged, zones, .. } = record;
        let is_own = |acknowledgement: &&Acknowledgement| acknowledgement.start == self.start;
        let newest = acknowledged.iter().find(is_own).map(|own| own.sequence);
        let oldest_fresh = self.sent.front().map(|(sequence, _)| *sequence);
        let is_fresh = oldest_fresh.is_some_and(|oldest| newest.is_some_and(|newest| newest >= oldest));
        if let Some(peer) = self.peers.get_mut(&start) {
            if sequence <= peer.sequence {
                return Ok(LimitReception::Repeated);
            }
            peer.sequence = sequence;
            if is_fresh {
                peer.proven_at = now;
            }
            return Ok(LimitReception::Usage(PeerNumber::of(start), zones));
        }
        // The sender needs an acknowledgement before it uses the numbers of this node.
        self.heartbeat_at = self.heartbeat_at.min(now);
        if !is_fresh || self.peers.len() >= MAX_PEERS {
            self.add_candidate(Acknowledgement { start, sequence });
            return Ok(LimitReception::NotFresh);
        }
        self.candidates.retain(|candidate| candidate.start != start);
        self.peers.insert(start, Peer { sequence, proven_at: now });
        Ok(LimitReception::Usage(PeerNumber::of(start), zones))
    }

    /// Returns the number of process lifetimes from which numbers are accepted.
    pub fn peer_count(&self) -> usize {
        self.peers.len()
    }

    fn add_candidate(&mut self, candidate: Acknowledgement) {
        if let Some(known) = self.candidates.iter_mut().find(|known| known.start == candidate.start) {
            known.sequence = known.sequence.max(candidate.sequence);
            return;
        }
        if self.candidates.len() == MAX_CANDIDATES {
            self.candidates.pop_front();
        }
        self.candidates.push_back(candidate);
    }

    /// Forgets sent messages whose acknowledgement is no longer evidence, and process lifetimes without evidence. An
    /// acknowledging message of such a lifetime that was received before cannot become evidence again, and its other
    /// messages are older than the next one that does.
    fn forget_silent(&mut self, now: ClockMs) {
        while self.sent.front().is_some_and(|(_, at)| now.saturating_sub(*at) > FRESH_MS) {
            self.sent.pop_front();
        }
        self.peers.retain(|_, peer| now.saturating_sub(peer.proven_at) <= FRESH_MS);
    }
}

/// Returns the keys that fit into `room` bytes: first those whose connections are closed (number 0), which use at most half
/// of it if there are others, then those with the largest numbers. Keys of more than [`MAX_LIMIT_KEY`] bytes
/// are left out, and zones beyond [`MAX_LIMIT_ZONES`].
fn largest(zones: Vec<ZoneUsage>, mut room: usize) -> Vec<ZoneUsage> {
    let length = |zone: &ZoneUsage| -> usize {
        LimitRecord::zone_len() + zone.keys.iter().map(|(key, _)| LimitRecord::key_len(key)).sum::<usize>()
    };
    let has_long_key = |zone: &ZoneUsage| zone.keys.iter().any(|(key, _)| key.len() > MAX_LIMIT_KEY);
    let used = zones.into_iter().filter(|zone| !zone.keys.is_empty());
    let mut zones: Vec<_> = used.take(MAX_LIMIT_ZONES).collect();
    if zones.iter().map(length).sum::<usize>() <= room && !zones.iter().any(has_long_key) {
        return zones;
    }
    let mut keys = Vec::new();
    for (index, zone) in zones.iter_mut().enumerate() {
        room = room.saturating_sub(LimitRecord::zone_len());
        keys.extend(zone.keys.drain(..).map(|(key, number)| (number, index, key)));
    }
    keys.retain(|(_, _, key)| key.len() <= MAX_LIMIT_KEY);
    keys.sort_unstable_by_key(|(number, ..)| (*number > 0, Reverse(*number)));
    let for_others = if keys.iter().any(|(number, ..)| *number > 0) { room / 2 } else { 0 };
    for (number, index, key) in keys {
        let reserved = if number == 0 { for_others } else { 0 };
        if let Some(rest) = room.checked_sub(LimitRecord::key_len(&key)).filter(|rest| *rest >= reserved) {
            room = rest;
            zones[index].keys.push((key, number));
        }
    }
    zones.retain(|zone| !zone.keys.is_empty());
    zones
}

#[cfg(test)]
mod tests;
