//! Parts of pages, each stored in memory for one known visitor (`esi_private_cache`).
//!
//! A part is only stored if no change for its visitor was possible since the request for the part was sent. A change
//! removes the stored parts of each visitor with one of its marks, and parts in flight for them are not stored:
//!
//! ```text
//! begin(visitor) -> request for parts in flight -> store_part: stored
//!                        |
//!                   invalidate(marks): no longer in flight -> store_part: not stored
//! ```
//!
//! A change that affects no stored part and no request in flight is not recorded, so that made-up cookies need no
//! memory.
//!
//! A part is also invalid after a purge of a tag of its response, such as that of a product in a cart. This is checked
//! when the part is read.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use myriad_http::Fields;
use myriad_policy::Tags;
use myriad_store::page::RecentPurges;
use parking_lot::Mutex;

use super::settings::PrivateCache;
use super::visitor::{Digest, Marks, Visitor};

/// Memory in bytes that a visitor's ESI part is assumed to use in addition to its target and content.
const PART_OVERHEAD: usize = 128;
/// Memory in bytes that a visitor is assumed to use in addition to the parts: the entries in the map and the ordered
/// sets.
const VISITOR_OVERHEAD: usize = 768;
/// Divisor of the total size of stored ESI parts: the visitors of one client network may use half of the memory.
const NETWORK_SHARE: u64 = 2;

/// Private ESI parts of all visitors in this process (`esi_private_cache`), shared by its workers; retained over
/// reloads.
static PARTS: LazyLock<Mutex<PartStore>> = LazyLock::new(Mutex::default);

/// Private ESI parts by visitor, and requests for parts in flight.
#[derive(Default)]
struct PartStore {
    visitors: HashMap<Digest, VisitorParts>,
    /// Number of the last stored part and digest of each visitor, so that the oldest visitors come first.
    by_age: BTreeSet<(u64, Digest)>,
    /// The visitors of `by_age`, ordered by client network first (`None` if it is unknown).
    by_network: BTreeSet<(Option<IpAddr>, u64, Digest)>,
    /// Pairs of a mark (digest of a cookie) and a visitor that has it.
    by_mark: BTreeSet<(Digest, Digest)>,
    /// Estimated memory that the parts of all visitors use, in bytes.
    weight: u64,
    network_weights: HashMap<Option<IpAddr>, u64>,
    /// Marks (digests of cookies) of the visitor for each request in flight.
    in_flight: HashMap<u64, Marks>,
    /// Pairs of a mark (digest of a cookie) and a request in flight whose visitor has it.
    in_flight_by_mark: BTreeSet<(Digest, u64)>,
    /// Number that was assigned last, to a request in flight or to an entry of a visitor.
    last: u64,
}

struct VisitorParts {
    marks: Marks,
    network: Option<IpAddr>,
    number: u64,
    weight: u64,
    parts: Vec<StoredPart>,
}

struct StoredPart {
    target: Box<[u8]>,
    bytes: Bytes,
    until_ms: u64,
    purges: PurgesSince,
    /// Labels (hashes) of the tags of the response.
    labels: Arc<[u64]>,
}

impl StoredPart {
    fn weight(&self) -> usize {
        self.target.len() + self.bytes.len() + size_of_val(&*self.labels) + PART_OVERHEAD
    }

    fn is_valid(&self, now_ms: u64) -> bool {
        now_ms < self.until_ms && !self.purges.covers(&self.labels)
    }
}

/// Purges of a zone since a request for parts began.
#[derive(Clone)]
struct PurgesSince {
    purges: Arc<RecentPurges>,
    /// Number of the last purge before the request for parts began: only later purges count.
    number: u64,
}

impl PurgesSince {
    /// Returns whether one of these purges covers a response with these labels.
    fn covers(&self, labels: &[u64]) -> bool {
        self.purges.covers(self.number, labels)
    }
}

/// Part to store for a visitor.
pub(super) struct NewPart<'a> {
    /// Target of the request for the part, or another key that does not begin with a slash.
    pub target: &'a [u8],
    pub bytes: Bytes,
    /// Time at which the part expires, in milliseconds since the epoch.
    pub until_ms: u64,
    /// Labels (hashes) of the tags of the response ([`myriad_policy::Tags`]).
    pub labels: Arc<[u64]>,
}

/// Guard of a request for ESI parts of one visitor, which counts as in flight until the guard is dropped.
pub(super) struct InFlight {
    number: u64,
    purges: PurgesSince,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        PARTS.lock().end(self.number);
    }
}

/// Records that ESI parts of a visitor are about to be requested. Must be called before the request is sent. `purges`
/// are the purges of the page's cache zone.
pub(super) fn begin(visitor: &Visitor, purges: &Arc<RecentPurges>) -> InFlight {
    let purges = PurgesSince { number: purges.last(), purges: Arc::clone(purges) };
    InFlight { number: PARTS.lock().begin(&visitor.marks), purges }
}

/// Returns the stored ESI part of a visitor for each target; `None` if it is missing, expired or purged.
pub(super) fn get<'a>(
    visitor: &Visitor,
    targets: impl Iterator<Item = &'a [u8]>,
    now_ms: u64,
) -> Vec<Option<Bytes>> {
    let parts = PARTS.lock();
    targets.map(|target| parts.get(visitor, target, now_ms)).collect()
}

/// Stores an ESI part from the response to a request, unless a change of the visitor's content was recorded or a purge
/// covered the part since the request began, or the part is larger than a visitor's maximum or the share of a client
/// network in the memory ([`NETWORK_SHARE`]). Evicts older parts if there is no memory for the new one.
pub(super) fn store_part(visitor: &Visitor, request: &InFlight, part: NewPart<'_>, bounds: PrivateCache) {
    let NewPart { target, bytes, until_ms, labels } = part;
    let part = StoredPart { target: target.into(), bytes, until_ms, purges: request.purges.clone(), labels };
    if !part.purges.covers(&part.labels) {
        PARTS.lock().store_part(visitor, request.number, part, bounds);
    }
}

/// Returns the labels of the tags in the fields of a response. A response with too many tags has the label that each
/// purge of a tag covers.
pub(super) fn labels(fields: &Fields) -> Arc<[u64]> {
    let tags = Tags::of(fields);
    let overflown = tags.is_truncated().then_some(Tags::OVERFLOWN);
    tags.names().map(Tags::label).chain(overflown).collect()
}

/// Removes the ESI parts of all visitors that have one of these marks (digests of cookies); parts of their requests in
/// flight will not be stored.
pub(super) fn invalidate(marks: &Marks) {
    PARTS.lock().invalidate(marks);
}

impl PartStore {
    fn begin(&mut self, marks: &Marks) -> u64 {
        self.last += 1;
        self.in_flight.insert(self.last, marks.clone());
        self.in_flight_by_mark.extend(marks.iter().map(|mark| (*mark, self.last)));
        self.last
    }

    fn end(&mut self, request: u64) {
        for mark in self.in_flight.remove(&request).unwrap_or_default() {
            self.in_flight_by_mark.remove(&(mark, request));
        }
    }

    fn get(&self, visitor: &Visitor, target: &[u8], now_ms: u64) -> Option<Bytes> {
        let mut parts = self.visitors.get(&visitor.id)?.parts.iter();
        let part = parts.find(|part| *part.target == *target)?;
        part.is_valid(now_ms).then(|| part.bytes.clone())
    }

    /// Stores an ESI part. If necessary, evicts the oldest parts of its visitor, then the oldest visitors of the same
    /// client network, then the oldest of all visitors. Does nothing if the part exceeds a visitor's maximum or the share
    /// of a client network ([`NETWORK_SHARE`]), or if the request is no longer in flight.
    fn store_part(&mut self, visitor: &Visitor, request: u64, part: StoredPart, bounds: PrivateCache) {
        let network_maximum = bounds.total / NETWORK_SHARE;
        let maximum = bounds.visitor.min(network_maximum.saturating_sub(VISITOR_OVERHEAD as u64));
        if part.weight() as u64 > maximum || !self.in_flight.contains_key(&request) {
            return;
        }
        let mut parts = self.remove(&visitor.id);
        parts.retain(|other| *other.target != *part.target);
        parts.push(part);
        let mut weight: usize = parts.iter().map(StoredPart::weight).sum();
        while weight as u64 > maximum {
            weight -= parts.remove(0).weight();
        }
        let weight = (weight + VISITOR_OVERHEAD) as u64;
        let network = visitor.network;
        while self.network_weight(network) + weight > network_maximum {
            let oldest = self.by_network.range((network, 0, Digest::default())..).next();
            let Some((_, _, id)) = oldest.filter(|(other, ..)| *other == network).copied() else { return };
            self.remove(&id);
        }
        while self.weight + weight > bounds.total {
            let Some((_, id)) = self.by_age.first().copied() else { return };
            self.remove(&id);
        }
        self.insert(visitor, parts, weight);
    }

    fn invalidate(&mut self, marks: &Marks) {
        for mark in marks {
            let visitors = self.by_mark.range((*mark, Digest::default())..=(*mark, [u8::MAX; 32]));
            for id in visitors.map(|(_, id)| *id).collect::<Vec<_>>() {
                self.remove(&id);
            }
            let requests = self.in_flight_by_mark.range((*mark, 0)..=(*mark, u64::MAX));
            for request in requests.map(|(_, request)| *request).collect::<Vec<_>>() {
                self.end(request);
            }
        }
    }

    fn network_weight(&self, network: Option<IpAddr>) -> u64 {
        self.network_weights.get(&network).copied().unwrap_or(0)
    }

    fn insert(&mut self, visitor: &Visitor, parts: Vec<StoredPart>, weight: u64) {
        let Visitor { id, marks, network, .. } = visitor;
        self.last += 1;
        let number = self.last;
        self.by_age.insert((number, *id));
        self.by_network.insert((*network, number, *id));
        self.by_mark.extend(marks.iter().map(|mark| (*mark, *id)));
        self.weight += weight;
        *self.network_weights.entry(*network).or_default() += weight;
        self.visitors
            .insert(*id, VisitorParts { marks: marks.clone(), network: *network, number, weight, parts });
    }

    /// Removes a visitor and returns the stored ESI parts of the visitor.
    fn remove(&mut self, id: &Digest) -> Vec<StoredPart> {
        let Some(VisitorParts { marks, network, number, weight, parts }) = self.visitors.remove(id) else {
            return Vec::new();
        };
        self.by_age.remove(&(number, *id));
        self.by_network.remove(&(network, number, *id));
        for mark in marks {
            self.by_mark.remove(&(mark, *id));
        }
        self.weight -= weight;
        let left = self.network_weight(network) - weight;
        if left == 0 {
            self.network_weights.remove(&network);
        } else {
            self.network_weights.insert(network, left);
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: PrivateCache = PrivateCache { total: 20_000, visitor: 1_000, valid_ms: 60_000 };

    fn visitor(name: u8) -> Visitor {
        let marks = [[name; 32], [name + 100; 32]].into_iter().collect();
        let network = Some(IpAddr::from([192, 0, name % 4, 0]));
        Visitor { id: [name; 32], marks, network, fields: None }
    }

    fn part(target: &str, bytes: Bytes, labels: &[u64]) -> StoredPart {
        let purges = PurgesSince { purges: Arc::default(), number: 0 };
        StoredPart { target: target.as_bytes().into(), bytes, until_ms: 1_000, purges, labels: labels.into() }
    }

    fn store_part(store: &mut PartStore, name: u8, target: &str, request: u64) {
        let part = part(target, Bytes::from(format!("{name} {target}")), &[]);
        store.store_part(&visitor(name), request, part, BOUNDS);
    }

    fn keep_at_once(store: &mut PartStore, name: u8, target: &str) {
        let request = store.begin(&visitor(name).marks);
        store_part(store, name, target, request);
        store.end(request);
    }

    fn has(store: &PartStore, name: u8, target: &str) -> bool {
        let found = store.get(&visitor(name), target.as_bytes(), 999);
        assert!(found.as_ref().is_none_or(|bytes| *bytes == format!("{name} {target}")));
        found.is_some()
    }

    #[test]
    fn part_belongs_to_one_visitor_and_expires() {
        let mut store = PartStore::default();
        keep_at_once(&mut store, 1, "/a");
        assert!(has(&store, 1, "/a") && !has(&store, 1, "/b") && !has(&store, 2, "/a"));
        assert_eq!(store.get(&visitor(1), b"/a", 1_000), None);
    }

    #[test]
    fn purge_of_a_tag_of_a_part_makes_it_invalid() {
        let mut store = PartStore::default();
        let request = store.begin(&visitor(1).marks);
        let one = part("/a", Bytes::from_static(b"1 /a"), &[7]);
        let purges = Arc::clone(&one.purges.purges);
        store.store_part(&visitor(1), request, one, BOUNDS);
        keep_at_once(&mut store, 1, "/b");
        purges.note_labels(&[8]);
        assert!(has(&store, 1, "/a"));
        purges.note_labels(&[7]);
        assert!(!has(&store, 1, "/a") && has(&store, 1, "/b"));
    }

    #[test]
    fn change_removes_the_parts_of_its_visitor_also_those_in_flight() {
        let mut store = PartStore::default();
        keep_at_once(&mut store, 1, "/a");
        keep_at_once(&mut store, 2, "/a");
        let (before, other) = (store.begin(&visitor(1).marks), store.begin(&visitor(2).marks));
        store.invalidate(&[[101; 32]].into_iter().collect());
        assert!(!has(&store, 1, "/a") && has(&store, 2, "/a"));
        store_part(&mut store, 1, "/b", before);
        store_part(&mut store, 2, "/b", other);
        assert!(!has(&store, 1, "/b"), "it was requested before the change");
        assert!(has(&store, 2, "/b"));
        keep_at_once(&mut store, 1, "/b");
        assert!(has(&store, 1, "/b"));
    }

    #[test]
    fn changes_of_unknown_visitors_leave_no_trace_and_remove_nothing() {
        let mut store = PartStore::default();
        keep_at_once(&mut store, 1, "/a");
        for number in 0..100_000_u32 {
            let mut mark = [9; 32];
            mark[..4].copy_from_slice(&number.to_le_bytes());
            store.invalidate(&[mark].into_iter().collect());
        }
        assert!(has(&store, 1, "/a"));
        assert_eq!((store.by_mark.len(), store.in_flight_by_mark.len()), (2, 0));
    }

    #[test]
    fn memory_of_one_visitor_and_of_all_is_bounded() {
        let mut store = PartStore::default();
        for number in 0..20 {
            keep_at_once(&mut store, 1, &format!("/{number:04}"));
        }
        assert!(has(&store, 1, "/0019") && !has(&store, 1, "/0000"));
        for name in 2..100 {
            for number in 0..20 {
                keep_at_once(&mut store, name, &format!("/{number:04}"));
            }
            assert!(store.weight <= BOUNDS.total);
        }
        assert!(!has(&store, 1, "/0019"));
        let long = Bytes::from(vec![b'x'; 1_000]);
        let request = store.begin(&visitor(1).marks);
        store.store_part(&visitor(1), request, part("/long", long, &[]), BOUNDS);
        assert_eq!(store.get(&visitor(1), b"/long", 0), None);
    }

    #[test]
    fn visitor_with_more_parts_than_the_share_of_a_network_loses_the_oldest() {
        let bounds = PrivateCache { total: 4_000, visitor: 4_000, ..BOUNDS };
        let mut store = PartStore::default();
        for number in 0..20 {
            let request = store.begin(&visitor(1).marks);
            let target = format!("/{number:04}");
            let part = part(&target, Bytes::from(format!("1 {target}")), &[]);
            store.store_part(&visitor(1), request, part, bounds);
            store.end(request);
            assert!(has(&store, 1, &target), "{target}");
        }
        assert!(has(&store, 1, "/0018") && !has(&store, 1, "/0000"));
    }

    #[test]
    fn one_network_takes_half_of_the_memory_and_evicts_no_other() {
        let mut store = PartStore::default();
        keep_at_once(&mut store, 1, "/a");
        // Visitors of another network.
        for name in (2..100).step_by(4) {
            (0..20).for_each(|number| keep_at_once(&mut store, name, &format!("/{number:04}")));
        }
        assert!(has(&store, 1, "/a") && has(&store, 98, "/0019") && !has(&store, 2, "/0019"));
        assert_eq!(store.network_weights.values().sum::<u64>(), store.weight);
        assert!(store.network_weights.values().all(|bytes| *bytes <= BOUNDS.total / NETWORK_SHARE));
    }

    #[test]
    fn nothing_is_left_when_all_is_removed() {
        let mut store = PartStore::default();
        for name in 0..100 {
            keep_at_once(&mut store, name, "/a");
        }
        for name in 0..100 {
            store.invalidate(&visitor(name).marks);
        }
        assert!(store.visitors.is_empty() && store.by_age.is_empty() && store.by_network.is_empty());
        assert!(store.by_mark.is_empty() && store.network_weights.is_empty() && store.weight == 0);
        assert!(store.in_flight.is_empty() && store.in_flight_by_mark.is_empty());
    }
}
