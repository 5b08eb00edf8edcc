//! Leaky buckets by key.

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

use super::bucket::{Bucket, REQUEST, wait_ms};
use crate::limit_zone::{
    KeyUsage, LimitKind, LimitTable, MAX_REPORTED_KEYS, MAX_SHARED_KEY, PeerUsage, RequestRate, UsageTable,
    weight,
};

/// Memory per entry of a zone's table in addition to the key, in bytes. Chosen so that an entry with an IPv4 address
/// takes 128 bytes, as in the manual of nginx.
const OVERHEAD: usize = 80;

/// Leaky buckets by key: the table of a `limit_req` zone, shared by all workers.
pub(crate) struct RequestTable {
    state: Mutex<RequestState>,
}

struct RequestState {
    buckets: Lru<Box<[u8]>, KeyBucket>,
    /// Keys with requests that were not reported to the cluster; `None` if the zone is not shared.
    unreported: Option<Vec<Box<[u8]>>>,
}

/// Bucket of a key, with the requests of this node that were not reported to the cluster.
struct KeyBucket {
    bucket: Bucket,
    unreported: u32,
}

/// Rate, burst and delay of one `limit_req`, in thousandths of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    /// Permitted requests per second, in thousandths of a request.
    pub rate: u64,
    /// Maximum excess over the rate, in thousandths of a request; beyond it requests are rejected.
    pub burst: u64,
    /// Excess over the rate up to which requests are not delayed, in thousandths of a request; `u64::MAX` for
    /// `nodelay`.
    pub delay: u64,
}

/// Result of the check of one `limit_req`, with the excess over the rate in thousandths of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitOutcome {
    /// The request is within the burst.
    Within(u64),
    /// The request is beyond the burst.
    Beyond(u64),
    /// The entry for the key of the request would be larger than the table.
    NoRoom,
}

impl LimitTable for RequestTable {
    fn new(bytes: u64) -> Self {
        Self { state: Mutex::new(RequestState { buckets: Lru::new(bytes), unreported: None }) }
    }

    fn has_kind(kind: LimitKind) -> bool {
        matches!(kind, LimitKind::Requests { .. })
    }

    fn resize(&self, bytes: u64) {
        self.state.lock().buckets.set_max_weight(bytes);
    }
}

impl RequestTable {
    /// Checks a limit without counting the request: a key without a bucket has no excess. With several limits, the
    /// request is counted only after all of them have admitted it. `now` is in milliseconds.
    pub(super) fn check(&self, key: &[u8], limit: Limit, now: u64) -> LimitOutcome {
        let mut state = self.state.lock();
        let known = state.buckets.get_mut(key);
        let excess = known.map_or(0, |known| known.bucket.excess_after(limit.rate, now));
        if excess > limit.burst { LimitOutcome::Beyond(excess) } else { LimitOutcome::Within(excess) }
    }

    /// Checks a limit, and counts the request if it is within the burst. A new key may evict the least recently used
    /// keys. `now` is in milliseconds.
    pub(super) fn check_and_count(&self, key: &[u8], limit: Limit, now: u64) -> LimitOutcome {
        let mut state = self.state.lock();
        if let Some(known) = state.buckets.get_mut(key) {
            let excess = known.bucket.excess_after(limit.rate, now);
            if excess > limit.burst {
                return LimitOutcome::Beyond(excess);
            }
            known.bucket.fill(excess, now);
            state.note_request(key);
            return LimitOutcome::Within(excess);
        }
        if state.insert(key, Bucket::new(now), limit.rate, now) {
            state.note_request(key);
            LimitOutcome::Within(0)
        } else {
            LimitOutcome::NoRoom
        }
    }

    /// Counts a request that [`Self::check`] has admitted, and returns its excess; 0 if its entry is larger than the
    /// table.
    pub(super) fn count(&self, key: &[u8], limit: Limit, now: u64) -> u64 {
        let unbounded = Limit { burst: u64::MAX, ..limit };
        match self.check_and_count(key, unbounded, now) {
            LimitOutcome::Within(excess) | LimitOutcome::Beyond(excess) => excess,
            LimitOutcome::NoRoom => 0,
        }
    }
}

impl RequestState {
    /// Inserts the bucket of a new key, which may evict the least recently used keys. Returns false if its entry would be
    /// larger than the table.
    fn insert(&mut self, key: &[u8], bucket: Bucket, rate: u64, now: u64) -> bool {
        // Each insertion first removes up to two idle buckets, the oldest first, which amortizes the cleanup.
        for _ in 0..2 {
            if !self.buckets.remove_oldest_if(|idle| idle.bucket.is_removable(rate, now)) {
                break;
            }
        }
        self.buckets.insert(key.into(), KeyBucket { bucket, unreported: 0 }, weight(key, OVERHEAD))
    }

    /// Notes a counted request for the next report, if the zone is shared and the key is not too long for a message.
    fn note_request(&mut self, key: &[u8]) {
        let Some(unreported) = self.unreported.as_mut().filter(|_| key.len() <= MAX_SHARED_KEY) else {
            return;
        };
        let Some(known) = self.buckets.get_mut(key) else { return };
        if known.unreported == 0 {
            if unreported.len() >= MAX_REPORTED_KEYS {
                return;
            }
            unreported.push(key.into());
        }
        known.unreported += 1;
    }
}

/// Requests of peers fill the same buckets as those of this node, and leak from there at the same rate. If nodes admit
/// requests at the same time, the excess becomes larger than the burst, and the next request is admitted later. The
/// excess that peers cause is bounded ([`max_excess`]), so that a peer with a larger rate does not block a client for
/// long.
impl UsageTable for RequestTable {
    fn set_shared(&self, is_shared: bool) {
        let mut state = self.state.lock();
        if is_shared == state.unreported.is_some() {
            return;
        }
        let keys = std::mem::replace(&mut state.unreported, is_shared.then(Vec::new));
        for key in keys.into_iter().flatten() {
            if let Some(known) = state.buckets.get_mut(&key) {
                known.unreported = 0;
            }
        }
    }

    fn take_usage(&self, _: bool) -> Vec<KeyUsage> {
        let mut state = self.state.lock();
        let RequestState { buckets, unreported, .. } = &mut *state;
        let keys = unreported.as_mut().map(std::mem::take).unwrap_or_default();
        // The requests of a key that was evicted meanwhile are not reported.
        let numbers = keys.into_iter().filter_map(|key| {
            let number = std::mem::take(&mut buckets.get_mut(&key)?.unreported);
            (number > 0).then_some((key, number))
        });
        numbers.collect()
    }

    fn add_usage(&self, usage: PeerUsage<'_>, limits: RequestRate, now: u64) {
        let PeerUsage { key, number, peers, .. } = usage;
        if number == 0 {
            return;
        }
        let RequestRate { rate, .. } = limits;
        let max_excess = max_excess(limits, peers);
        let mut state = self.state.lock();
        if let Some(known) = state.buckets.get_mut(key) {
            known.bucket.add_requests(number, max_excess, rate, now);
            return;
        }
        // The first request of a key is not an excess.
        let mut bucket = Bucket::new(now);
        bucket.add_requests(number - 1, max_excess, rate, now);
        // Without room for the key, its requests on this node are rejected in any case.
        state.insert(key, bucket, rate, now);
    }
}

/// Returns the maximum excess that nodes with the same limits cause together: each of them admits at most a burst and a
/// first request before it receives the numbers of the others, which may take a second.
fn max_excess(limits: RequestRate, peers: usize) -> u64 {
    let RequestRate { rate, max_burst } = limits;
    let of_one_node = max_burst.saturating_add(REQUEST).saturating_add(rate);
    of_one_node.saturating_mul((peers as u64).saturating_add(1))
}

impl Limit {
    /// Returns the delay of a request with this excess, in milliseconds.
    pub(super) fn wait_ms(&self, excess: u64) -> u64 {
        wait_ms(excess, self.delay, self.rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Limit = Limit { rate: 2000, burst: 1000, delay: 0 };

    #[test]
    fn burst_is_let_in_and_what_is_beyond_is_not_counted() {
        let table = RequestTable::new(1 << 20);
        assert_eq!(table.check_and_count(b"a", LIMIT, 1_000), LimitOutcome::Within(0));
        assert_eq!(table.check_and_count(b"a", LIMIT, 1_000), LimitOutcome::Within(1000));
        for _ in 0..5 {
            assert_eq!(table.check_and_count(b"a", LIMIT, 1_000), LimitOutcome::Beyond(2000));
        }
        assert_eq!(table.check_and_count(b"b", LIMIT, 1_000), LimitOutcome::Within(0));
        assert_eq!(table.check_and_count(b"a", LIMIT, 1_500), LimitOutcome::Within(1000));
    }

    #[test]
    fn asking_alone_counts_nothing() {
        let table = RequestTable::new(1 << 20);
        for _ in 0..5 {
            assert_eq!(table.check(b"a", LIMIT, 1_000), LimitOutcome::Within(0));
        }
        assert_eq!(table.count(b"a", LIMIT, 1_000), 0);
        assert_eq!(table.check(b"a", LIMIT, 1_000), LimitOutcome::Within(1000));
        assert_eq!(table.count(b"a", LIMIT, 1_000), 1000);
        assert_eq!(table.check(b"a", LIMIT, 1_000), LimitOutcome::Beyond(2000));
    }

    #[test]
    fn a_megabyte_holds_eight_thousand_addresses() {
        let table = RequestTable::new(1 << 20);
        for visitor in 0..20_000u32 {
            table.check_and_count(&visitor.to_be_bytes(), LIMIT, 1_000);
        }
        assert_eq!(table.state.lock().buckets.len(), 8192);
        // The table keeps the latest keys and has evicted the first.
        assert_eq!(table.check(&19_999u32.to_be_bytes(), LIMIT, 1_000), LimitOutcome::Within(1000));
        assert_eq!(table.check(&0u32.to_be_bytes(), LIMIT, 1_000), LimitOutcome::Within(0));
    }

    #[test]
    fn buckets_of_idle_clients_are_reused() {
        let table = RequestTable::new(1 << 20);
        for visitor in 0..1000u32 {
            table.check_and_count(&visitor.to_be_bytes(), LIMIT, 1_000);
        }
        for visitor in 1000..2000u32 {
            table.check_and_count(&visitor.to_be_bytes(), LIMIT, 100_000);
        }
        assert_eq!(table.state.lock().buckets.len(), 1000);
    }

    /// Nodes that report their requests to each other at an interval, with a limit of `RATE` and `BURST`.
    struct Nodes(Vec<RequestTable>);

    const RATE: u64 = 50_000;
    const BURST: u64 = 20_000;
    const INTERVAL_MS: u64 = 80;

    impl Nodes {
        fn new(count: usize) -> Self {
            let tables: Vec<_> = (0..count).map(|_| RequestTable::new(1 << 20)).collect();
            for table in &tables {
                table.set_shared(true);
            }
            Self(tables)
        }

        fn is_admitted(&self, node: usize, now: u64) -> bool {
            let limit = Limit { rate: RATE, burst: BURST, delay: u64::MAX };
            matches!(self.0[node].check_and_count(b"k", limit, now), LimitOutcome::Within(_))
        }

        fn report(&self, now: u64) {
            for (sender, table) in self.0.iter().enumerate() {
                for (key, number) in table.take_usage(false) {
                    for (_, other) in self.0.iter().enumerate().filter(|(node, _)| *node != sender) {
                        let peers = self.0.len() - 1;
                        let usage = PeerUsage { peer: sender as u64, peers, key: &key, number };
                        other.add_usage(usage, RequestRate { rate: RATE, max_burst: BURST }, now);
                    }
                }
            }
        }

        /// Sends one request per millisecond in `period`, to the node that `choose` returns; returns the number of
        /// admitted ones.
        fn run(&self, period: std::ops::Range<u64>, mut choose: impl FnMut(u64) -> usize) -> u64 {
            let mut admitted = 0;
            for now in period {
                if now.is_multiple_of(INTERVAL_MS) {
                    self.report(now);
                }
                admitted += u64::from(self.is_admitted(choose(now), now));
            }
            admitted
        }
    }

    #[test]
    fn nodes_admit_the_rate_of_one_node_together() {
        for count in [1, 2, 3, 10] {
            let nodes = Nodes::new(count);
            let spread = nodes.run(0..10_000, |now| now as usize % count);
            let single = RATE * 10 / 1000 + BURST / 1000;
            assert!(
                spread >= single * 9 / 10 && spread <= single * 11 / 10,
                "{count} nodes: {spread} of {single}"
            );
            // Without the reports, each node would admit the rate.
            let steady = nodes.run(10_000..20_000, |now| (now / 7) as usize % count);
            let rate = RATE * 10 / 1000;
            assert!(steady >= rate * 9 / 10 && steady <= rate * 11 / 10, "{count} nodes: {steady} of {rate}");
        }
    }

    #[test]
    fn bursts_at_all_nodes_at_the_same_time_delay_later_requests() {
        for count in [2, 3, 5, 20] {
            let nodes = Nodes::new(count);
            let mut admitted = 0;
            for now in 0..60_000u64 {
                if now.is_multiple_of(INTERVAL_MS) {
                    nodes.report(now);
                }
                // The client sends a burst to all nodes each second, also while it is rejected.
                if now % 1000 < 30 {
                    admitted += (0..count).filter(|node| nodes.is_admitted(*node, now)).count() as u64;
                }
            }
            // Within 100 ms, each node may admit a burst and the rate.
            let single = RATE * 60 / 1000 + count as u64 * (REQUEST + BURST + RATE / 10) / 1000;
            assert!(admitted <= single * 11 / 10, "{count} nodes: {admitted} of {single}");
        }
    }

    #[test]
    fn requests_at_all_nodes_at_the_same_time_are_admitted_at_the_rate_of_one_node() {
        for count in [2, 5, 20] {
            let nodes = Nodes::new(count);
            let admit = |period: std::ops::Range<u64>| -> u64 {
                let mut admitted = 0;
                for now in period {
                    if now.is_multiple_of(INTERVAL_MS) {
                        nodes.report(now);
                    }
                    admitted += (0..count).filter(|node| nodes.is_admitted(*node, now)).count() as u64;
                }
                admitted
            };
            // Until the requests of the first 100 ms have leaked.
            admit(0..20_000);
            let (admitted, rate) = (admit(20_000..80_000), RATE * 60 / 1000);
            assert!(
                admitted >= rate * 9 / 10 && admitted <= rate * 11 / 10,
                "{count} nodes: {admitted} of {rate}"
            );
        }
    }

    #[test]
    fn nodes_continue_alone_and_together() {
        let nodes = Nodes::new(2);
        nodes.run(0..1000, |now| now as usize % 2);
        let alone: u64 = (1000..3000).map(|now| u64::from(nodes.is_admitted(now as usize % 2, now))).sum();
        assert!(alone >= 2 * RATE * 2 / 1000 * 9 / 10, "without reports, each node admits the rate: {alone}");
        for table in &nodes.0 {
            table.take_usage(false);
        }
        let together = nodes.run(3000..13_000, |now| now as usize % 2);
        let rate = RATE * 10 / 1000;
        assert!(together >= rate * 9 / 10 && together <= rate * 11 / 10, "{together} of {rate}");
    }

    #[test]
    fn rejected_requests_are_not_reported() {
        let table = RequestTable::new(1 << 20);
        table.set_shared(true);
        for _ in 0..10 {
            table.check_and_count(b"a", LIMIT, 1_000);
        }
        assert_eq!(table.check(b"b", LIMIT, 1_000), LimitOutcome::Within(0));
        assert_eq!(table.take_usage(false), [((*b"a").into(), 2)]);
        assert_eq!(table.take_usage(true), []);
        table.set_shared(false);
        table.count(b"a", LIMIT, 1_000);
        assert_eq!(table.take_usage(true), []);
    }

    #[test]
    fn long_keys_are_not_reported() {
        let table = RequestTable::new(1 << 20);
        table.set_shared(true);
        let keys = [MAX_SHARED_KEY, MAX_SHARED_KEY + 1].map(|length| vec![b'k'; length]);
        for key in &keys {
            table.count(key, LIMIT, 1_000);
        }
        assert_eq!(table.state.lock().unreported.as_ref().map(Vec::len), Some(1));
        assert_eq!(table.take_usage(false), [(keys[0].as_slice().into(), 1)]);
    }

    #[test]
    fn requests_of_peers_count_like_those_of_this_node() {
        let (one, other) = (RequestTable::new(1 << 20), RequestTable::new(1 << 20));
        let rate = RequestRate { rate: 1000, max_burst: 4000 };
        let limit = Limit { rate: 1000, burst: 4000, delay: u64::MAX };
        for now in [1_000, 1_000, 1_000, 1_500] {
            one.count(b"a", limit, now);
        }
        other.add_usage(PeerUsage { peer: 1, peers: 1, key: b"a", number: 3 }, rate, 1_000);
        other.add_usage(PeerUsage { peer: 1, peers: 1, key: b"a", number: 1 }, rate, 1_500);
        assert_eq!(one.check(b"a", limit, 2_000), other.check(b"a", limit, 2_000));
    }

    #[test]
    fn peer_with_a_larger_rate_does_not_block_a_client_for_long() {
        let table = RequestTable::new(1 << 20);
        let rate = RequestRate { rate: 1000, max_burst: 5000 };
        let limit = Limit { rate: 1000, burst: 5000, delay: u64::MAX };
        for second in 0..1000 {
            table.add_usage(PeerUsage { peer: 1, peers: 1, key: b"a", number: 100 }, rate, second * 1000);
        }
        assert!(matches!(table.check(b"a", limit, 999_000), LimitOutcome::Beyond(_)));
        assert!(matches!(table.check(b"a", limit, 999_000 + 10_000), LimitOutcome::Within(_)));
    }
}
