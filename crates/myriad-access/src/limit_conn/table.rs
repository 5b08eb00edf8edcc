//! Counts of concurrent requests by key.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use myriad_base::bounded::Lru;
use myriad_net::clock::now_ms;
use parking_lot::Mutex;

use crate::limit_zone::{
    KeyUsage, LimitKind, LimitTable, MAX_REPORTED_KEYS, MAX_SHARED_KEY, PeerUsage, RequestRate, UsageTable,
    weight,
};

/// Memory per entry of a zone's table in addition to the key, in bytes. Chosen so that an entry with an IPv4 address
/// takes 64 bytes, as in the manual of nginx.
const OVERHEAD: usize = 36;

/// Memory for the number of one peer, in bytes.
const PEER_OVERHEAD: usize = 24;

/// Time for which the number of a peer applies, in milliseconds. Peers repeat their numbers each second.
const PEER_LIFETIME_MS: u64 = 3000;

/// Maximum number of expired numbers of peers that a report removes. The others use only memory that is free, and do not
/// apply.
const MAX_REMOVED: usize = 1000;

/// Numbers of concurrent requests (in `stream`: sessions) by key: the table of a `limit_conn` zone, shared by all
/// workers.
pub struct ConnectionTable {
    state: Mutex<ConnectionState>,
}

struct ConnectionState {
    /// Numbers of this node.
    counts: Lru<Box<[u8]>, u16>,
    /// Numbers of peers. They use the memory that `counts` leaves, and are evicted before a key of this node is refused.
    peers: Lru<Box<[u8]>, Vec<PeerCount>>,
    /// Maximum size of the table in bytes.
    max_bytes: u64,
    /// Changes for the cluster; `None` if the zone is not shared.
    changes: Option<ConnectionChanges>,
}

/// Number of concurrent requests of a key on a peer.
struct PeerCount {
    peer: u64,
    count: u32,
    /// Time after which the number does not apply, in milliseconds of the process clock.
    expires_at: u64,
}

/// Changes of numbers since the last report to the cluster.
#[derive(Default)]
struct ConnectionChanges {
    /// Keys whose number may have changed. Changes beyond [`MAX_REPORTED_KEYS`], and those by a resize, are missing.
    keys: HashSet<Box<[u8]>>,
    /// Numbers that were reported and are not 0, corrected by each report of all numbers.
    reported: HashMap<Box<[u8]>, u16>,
}

/// Guard of a request (in `stream`: of a session) that is counted in a `limit_conn` zone, until the guard is dropped.
pub struct CountedRequest {
    table: Arc<ConnectionTable>,
    key: Box<[u8]>,
}

impl LimitTable for ConnectionTable {
    fn new(bytes: u64) -> Self {
        let state = ConnectionState {
            counts: Lru::new(bytes),
            peers: Lru::new(bytes),
            max_bytes: bytes,
            changes: None,
        };
        Self { state: Mutex::new(state) }
    }

    fn has_kind(kind: LimitKind) -> bool {
        kind == LimitKind::Connections
    }

    /// Sets the maximum size of the table in bytes. Requests whose keys are evicted are no longer counted.
    fn resize(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.max_bytes = bytes;
        state.counts.set_max_weight(bytes);
        state.limit_peers();
    }
}

impl ConnectionTable {
    /// Counts a request with this key. Returns `None`, without counting it, if `most` requests of the key are counted
    /// already, on this node and its peers, or if no request of the key is counted and the table is full.
    pub fn try_count(self: &Arc<Self>, key: &[u8], most: u16) -> Option<CountedRequest> {
        self.try_count_at(key, most, now_ms)
    }

    /// Counts a request, as [`Self::try_count`]. `clock` returns the time in milliseconds.
    fn try_count_at(
        self: &Arc<Self>,
        key: &[u8],
        most: u16,
        clock: impl FnOnce() -> u64,
    ) -> Option<CountedRequest> {
        let mut state = self.state.lock();
        let of_peers = if state.peers.is_empty() { 0 } else { state.peer_count(key, clock()) };
        match state.counts.get_mut(key) {
            Some(count) if of_peers.saturating_add(u32::from(*count)) >= u32::from(most) => return None,
            Some(count) => *count += 1,
            None if of_peers >= u32::from(most) => return None,
            None => {
                let weight = weight(key, OVERHEAD);
                if !state.counts.has_room(weight) {
                    return None;
                }
                state.counts.insert(key.into(), 1, weight);
                state.limit_peers();
            }
        }
        state.note_change(key);
        Some(CountedRequest { table: Arc::clone(self), key: key.into() })
    }
}

impl ConnectionState {
    /// Returns the number of requests of a key on peers.
    fn peer_count(&self, key: &[u8], now: u64) -> u32 {
        let counts = self.peers.get(key).into_iter().flatten().filter(|peer| peer.applies(now));
        counts.fold(0, |sum, peer| sum.saturating_add(peer.count))
    }

    /// Evicts numbers of peers that do not fit into the memory that the keys of this node leave.
    fn limit_peers(&mut self) {
        if !self.peers.is_empty() {
            self.peers.set_max_weight(self.max_bytes.saturating_sub(self.counts.weight()));
        }
    }

    /// Notes that the number of a key has changed, for the next report.
    fn note_change(&mut self, key: &[u8]) {
        if let Some(ConnectionChanges { keys, .. }) = &mut self.changes
            && keys.len() < MAX_REPORTED_KEYS
            && key.len() <= MAX_SHARED_KEY
            && !keys.contains(key)
        {
            keys.insert(key.into());
        }
    }

    /// Sets the number of a peer; 0 removes it.
    fn set_peer_count(&mut self, usage: PeerUsage<'_>, now: u64) {
        let PeerUsage { peer, key, number, .. } = usage;
        let mut counts = self.peers.remove(key).unwrap_or_default();
        counts.retain(|count| count.peer != peer && count.applies(now));
        if number > 0 {
            counts.push(PeerCount { peer, count: number, expires_at: now + PEER_LIFETIME_MS });
        }
        if !counts.is_empty() {
            self.peers.set_max_weight(self.max_bytes.saturating_sub(self.counts.weight()));
            let weight = weight(key, OVERHEAD + PEER_OVERHEAD * counts.len());
            self.peers.insert(key.into(), counts, weight);
        }
    }
}

impl ConnectionChanges {
    /// Returns the numbers that have changed since the last report.
    fn take_changed(&mut self, counts: &Lru<Box<[u8]>, u16>) -> Vec<KeyUsage> {
        let Self { keys, reported } = self;
        let mut usage = Vec::new();
        for key in keys.drain() {
            match counts.get(&*key) {
                None => {
                    if reported.remove(&*key).is_some() {
                        usage.push((key, 0));
                    }
                }
                Some(count) if reported.get(&*key) == Some(count) => {}
                Some(&count) if reported.len() < MAX_REPORTED_KEYS || reported.contains_key(&*key) => {
                    usage.push((key.clone(), u32::from(count)));
                    reported.insert(key, count);
                }
                Some(_) => {}
            }
        }
        usage
    }

    /// Returns all numbers, and 0 for each reported key without requests. Includes the changes that were not noted, and
    /// requests that were counted before the zone was shared.
    fn take_all(&mut self, counts: &Lru<Box<[u8]>, u16>) -> Vec<KeyUsage> {
        let Self { keys, reported } = self;
        keys.clear();
        let mut usage = Vec::new();
        reported.retain(|key, number| {
            let count = counts.get(&**key);
            match count {
                Some(count) => *number = *count,
                None => usage.push((key.clone(), 0)),
            }
            count.is_some()
        });
        // All keys in `reported` are in `counts`.
        if counts.len() > reported.len() {
            for (key, count) in counts.iter().filter(|(key, _)| key.len() <= MAX_SHARED_KEY) {
                if reported.len() >= MAX_REPORTED_KEYS {
                    break;
                }
                if !reported.contains_key(key) {
                    reported.insert(key.clone(), *count);
                }
            }
        }
        usage.extend(reported.iter().map(|(key, count)| (key.clone(), u32::from(*count))));
        usage
    }
}

impl PeerCount {
    /// Returns true if the number applies at `now`. It does not after the clock was set back.
    fn applies(&self, now: u64) -> bool {
        (1..=PEER_LIFETIME_MS).contains(&self.expires_at.saturating_sub(now))
    }
}

impl UsageTable for ConnectionTable {
    fn set_shared(&self, is_shared: bool) {
        let mut state = self.state.lock();
        if is_shared == state.changes.is_some() {
            return;
        }
        state.changes = is_shared.then(ConnectionChanges::default);
        state.peers.clear();
    }

    fn take_usage(&self, repeats: bool) -> Vec<KeyUsage> {
        let mut state = self.state.lock();
        let ConnectionState { counts, changes, peers, .. } = &mut *state;
        let Some(changes) = changes else { return Vec::new() };
        if !repeats {
            return changes.take_changed(counts);
        }
        let now = now_ms();
        for _ in 0..MAX_REMOVED {
            if !peers.remove_oldest_if(|counts| !counts.iter().any(|count| count.applies(now))) {
                break;
            }
        }
        changes.take_all(counts)
    }

    fn add_usage(&self, usage: PeerUsage<'_>, _: RequestRate, now: u64) {
        self.state.lock().set_peer_count(usage, now);
    }
}

impl Drop for CountedRequest {
    fn drop(&mut self) {
        let mut state = self.table.state.lock();
        let Some(count) = state.counts.get_mut(&self.key) else { return };
        *count -= 1;
        if *count == 0 {
            state.counts.remove(&self.key);
        }
        state.note_change(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_holds_its_own_number_and_gives_back() {
        let table = Arc::new(ConnectionTable::new(1 << 20));
        let first = table.try_count(b"a", 2).expect("the first");
        let second = table.try_count(b"a", 2).expect("the second");
        assert!(table.try_count(b"a", 2).is_none());
        assert!(table.try_count(b"b", 1).is_some());
        drop(first);
        let third = table.try_count(b"a", 2).expect("a free slot");
        assert!(table.try_count(b"a", 2).is_none());
        drop((second, third));
        assert_eq!(table.state.lock().counts.len(), 0);
    }

    #[test]
    fn full_table_refuses_new_keys_and_retains_counts() {
        let table = Arc::new(ConnectionTable::new(128));
        let held: Vec<_> = [b"a", b"b"].map(|key| table.try_count(key, 1).expect("room")).into();
        assert!(table.try_count(b"c", 1).is_none());
        assert!(table.try_count(b"a", 1).is_none());
        table.resize(64);
        // The resize has evicted one key; dropping its guard must not change another count.
        drop(held);
        assert_eq!(table.state.lock().counts.len(), 0);
        assert!(table.try_count(b"c", 1).is_some());
    }

    #[test]
    fn threads_never_hold_more_than_they_may() {
        let table = Arc::new(ConnectionTable::new(1 << 20));
        let most = std::sync::atomic::AtomicUsize::new(0);
        let now = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2_000 {
                        if let Some(_held) = table.try_count(b"a", 3) {
                            use std::sync::atomic::Ordering::SeqCst;
                            let count = now.fetch_add(1, SeqCst) + 1;
                            most.fetch_max(count, SeqCst);
                            now.fetch_sub(1, SeqCst);
                        }
                    }
                });
            }
        });
        assert!(most.into_inner() <= 3);
        assert_eq!(table.state.lock().counts.len(), 0);
    }

    fn usage(peer: u64, key: &[u8], number: u32) -> PeerUsage<'_> {
        PeerUsage { peer, peers: 1, key, number }
    }

    /// Reports the numbers of one node to another as peer `peer`.
    fn report(from: &ConnectionTable, peer: u64, to: &ConnectionTable, repeats: bool, now: u64) {
        for (key, number) in from.take_usage(repeats) {
            to.add_usage(usage(peer, &key, number), RequestRate::default(), now);
        }
    }

    fn shared(bytes: u64) -> Arc<ConnectionTable> {
        let table = Arc::new(ConnectionTable::new(bytes));
        table.set_shared(true);
        table
    }

    #[test]
    fn requests_on_peers_count_until_they_complete() {
        let (a, b) = (shared(1 << 20), shared(1 << 20));
        let _own = b.try_count_at(b"k", 3, || 1000).expect("the first");
        let held = [0, 1].map(|_| a.try_count_at(b"k", 3, || 1000).expect("within the limit"));
        report(&a, 1, &b, false, 1000);
        report(&b, 1, &a, false, 1000);
        assert!(b.try_count_at(b"k", 3, || 1000).is_none(), "one here, and two on the peer");
        assert!(a.try_count_at(b"k", 3, || 1000).is_none(), "two here, and one on the peer");
        assert!(b.try_count_at(b"other", 1, || 1000).is_some());
        drop(held);
        report(&a, 1, &b, false, 1100);
        assert!(b.try_count_at(b"k", 2, || 1100).is_some());
        assert!(a.take_usage(false).is_empty(), "nothing has changed since");
    }

    #[test]
    fn numbers_of_a_peer_expire_unless_they_are_repeated() {
        let (a, b) = (shared(1 << 20), shared(1 << 20));
        let _held = a.try_count_at(b"k", 1, || 1000).expect("the first");
        report(&a, 1, &b, false, 1000);
        report(&a, 1, &b, true, 3900);
        assert!(b.try_count_at(b"k", 1, || 6899).is_none());
        assert!(b.try_count_at(b"k", 1, || 6900).is_some(), "the peer has not repeated its number");
        report(&a, 1, &b, true, 9000);
        assert!(b.try_count_at(b"k", 1, || 5000).is_some(), "the clock was set back");
    }

    #[test]
    fn unchanged_numbers_are_only_repeated() {
        let a = shared(1 << 20);
        let _held = [b"a", b"b"].map(|key| a.try_count_at(key, 5, || 0).expect("within the limit"));
        drop(a.try_count_at(b"c", 5, || 0));
        assert_eq!(a.take_usage(false).len(), 2, "a request that completed is not reported");
        assert_eq!(a.take_usage(false).len(), 0);
        drop(a.try_count_at(b"a", 5, || 0));
        assert_eq!(a.take_usage(false).len(), 0, "the number is as before");
        assert_eq!(a.take_usage(true).len(), 2);
    }

    #[test]
    fn numbers_of_peers_use_only_free_memory() {
        let table = shared(1024);
        for key in 0..100u32 {
            table.add_usage(usage(1, &key.to_be_bytes(), 1), RequestRate::default(), 1000);
        }
        let state = table.state.lock();
        assert!(state.peers.weight() <= 1024 && state.peers.len() > 4);
        drop(state);
        let held: Vec<_> = (0..16u32)
            .map(|key| table.try_count_at(&(1000 + key).to_be_bytes(), 1, || 1000).expect("room"))
            .collect();
        assert_eq!(table.state.lock().peers.len(), 0);
        drop(held);
        table.set_shared(false);
        assert!(table.take_usage(true).is_empty());
    }
    /// Returns true if a peer, which has received reports of `a`, admits a request of a key with a limit of 1.
    fn peer_admits(peer: &Arc<ConnectionTable>, key: &[u8]) -> bool {
        peer.try_count_at(key, 1, || 1000).is_some()
    }

    #[test]
    fn request_that_completes_among_many_changes_is_reported_with_all_numbers() {
        let (a, b) = (shared(1 << 23), shared(1 << 23));
        let held = a.try_count_at(b"k", 1, || 1000).expect("the first");
        report(&a, 1, &b, false, 1000);
        assert!(!peer_admits(&b, b"k"));
        for key in 0..MAX_REPORTED_KEYS as u32 {
            drop(a.try_count_at(&key.to_be_bytes(), 1, || 1000).expect("room"));
        }
        drop(held);
        report(&a, 1, &b, false, 1000);
        assert!(!peer_admits(&b, b"k"), "the change was not noted");
        report(&a, 1, &b, true, 1000);
        assert!(peer_admits(&b, b"k"));
        assert!(a.take_usage(true).is_empty());
    }

    #[test]
    fn request_whose_key_a_resize_evicts_is_reported_as_completed() {
        let (a, b) = (shared(1 << 20), shared(1 << 20));
        let held = a.try_count_at(b"k", 1, || 1000).expect("the first");
        report(&a, 1, &b, false, 1000);
        a.resize(0);
        drop(held);
        report(&a, 1, &b, true, 1000);
        assert!(peer_admits(&b, b"k"));
    }

    #[test]
    fn requests_in_progress_are_reported_after_their_zone_becomes_shared() {
        let (a, b) = (Arc::new(ConnectionTable::new(1 << 20)), shared(1 << 20));
        let held = [b"k", b"l"].map(|key| a.try_count_at(key, 1, || 1000).expect("the first"));
        a.set_shared(true);
        report(&a, 1, &b, true, 1000);
        assert!(!peer_admits(&b, b"k") && !peer_admits(&b, b"l"));
        drop(held);
        report(&a, 1, &b, false, 1000);
        assert!(peer_admits(&b, b"k") && peer_admits(&b, b"l"));
    }

    #[test]
    fn expired_numbers_are_removed_in_steps() {
        let table = shared(1 << 23);
        for key in 0..3 * MAX_REMOVED as u32 {
            table.add_usage(usage(1, &key.to_be_bytes(), 1), RequestRate::default(), 1000);
        }
        for left in [2, 1, 0] {
            table.take_usage(true);
            assert_eq!(table.state.lock().peers.len(), left * MAX_REMOVED);
        }
    }

    #[test]
    fn keys_of_a_report_are_limited() {
        let table = shared(1 << 23);
        let held: Vec<_> = (0..2 * MAX_REPORTED_KEYS as u32)
            .map(|key| table.try_count_at(&key.to_be_bytes(), 1, || 1000).expect("room"))
            .collect();
        let _long = table.try_count_at(&[0; MAX_SHARED_KEY + 1], 1, || 1000).expect("room");
        assert_eq!(table.take_usage(false).len(), MAX_REPORTED_KEYS);
        assert_eq!(table.take_usage(true).len(), MAX_REPORTED_KEYS);
        drop(held);
        let numbers = table.take_usage(true);
        assert!(numbers.len() == MAX_REPORTED_KEYS && numbers.iter().all(|(_, number)| *number == 0));
        assert!(table.take_usage(true).is_empty());
    }
}
