//! Purges that this node must bring into the log: its own, and lost purges of other nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::{ClockMs, PendingPurgeStatus, PurgeTicket};
use crate::record::{
    ClusterPurge, LogPosition, MAX_RECORD_BYTES, MAX_RECORD_PURGES, NodeName, PurgeId, RecordTag,
};

/// Maximum number of purges that wait for the log; more are replaced by one purge of each zone.
const MAX_UNSENT: usize = 20_000;
/// Maximum number of own purges in memory. Of more, the oldest in the log do not wait for receipts any more.
const MAX_OWN: usize = 40_000;
/// Maximum number of purges in a status.
const STATUS_PURGES: usize = 100;

/// Result of the save of an own purge on this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SaveState {
    /// The caller has not reported the result.
    Waiting,
    /// The purge is durable, or this node applies it like the purge of another node when its record is read.
    Saved,
    /// The save failed. This node applies the purge when its record is read, and repeats that until it is durable.
    Failed,
}

/// Request of a purge.
#[derive(Clone, Copy, Debug)]
pub(super) struct PurgeRequest {
    pub(super) ticket: PurgeTicket,
    pub(super) requested_at: ClockMs,
    /// Time at which the answer is due.
    pub(super) answer_due_at: ClockMs,
}

/// Purge that was requested on this node, until every member has confirmed it and its save on this node is complete.
#[derive(Debug)]
pub(super) struct OwnPurge {
    pub(super) purge: ClusterPurge,
    /// Time of the first request.
    pub(super) requested_at: ClockMs,
    /// True if an earlier lifetime of the node requested the purge.
    is_restored: bool,
    /// Requests without an answer. Equal purges that wait for the log are combined.
    requests: Vec<PurgeRequest>,
    /// Number of requests whose save is in progress.
    waiting_saves: usize,
    has_failed_save: bool,
    /// Record that has the purge; `None` if the log does not have it.
    pub(super) record: Option<LogPosition>,
    pub(super) receipts: BTreeSet<NodeName>,
}

impl OwnPurge {
    /// Creates a purge that this node applies when its record is read.
    pub(super) fn new(purge: ClusterPurge, requested_at: ClockMs) -> Self {
        Self {
            purge,
            requested_at,
            is_restored: false,
            requests: Vec::new(),
            waiting_saves: 0,
            has_failed_save: false,
            record: None,
            receipts: BTreeSet::new(),
        }
    }

    /// Creates a purge of an earlier lifetime.
    pub(super) fn restored(purge: ClusterPurge, now: ClockMs) -> Self {
        Self { is_restored: true, ..Self::new(purge, now) }
    }

    /// Result of the save on this node, of all requests.
    pub(super) fn save(&self) -> SaveState {
        match (self.waiting_saves, self.has_failed_save) {
            (1.., _) => SaveState::Waiting,
            (0, true) => SaveState::Failed,
            (0, false) => SaveState::Saved,
        }
    }

    /// Requests without an answer.
    pub(super) fn requests(&self) -> &[PurgeRequest] {
        &self.requests
    }
}

/// Purges that this node must bring into the log, and own purges that wait for receipts.
#[derive(Debug)]
pub(super) struct PurgeOutbox {
    own: BTreeMap<u64, OwnPurge>,
    last_key: u64,
    keys: HashMap<PurgeId, u64>,
    /// Own purges whose save is in progress, by the ticket of the request.
    tickets: HashMap<PurgeTicket, PurgeId>,
    /// True if a purge in the log was removed before every member had confirmed it.
    has_excess: bool,
    /// Own purges that are not in the log.
    unsent: BTreeSet<u64>,
    unsent_bytes: usize,
    max_unsent_bytes: usize,
    /// Number and size of the own purges of an earlier lifetime.
    restored: usize,
    restored_bytes: usize,
    /// Size of all own purges.
    own_bytes: usize,
    max_own_bytes: usize,
    /// Own purges that were never part of an append, by the hash of their zone and body. A later request of an equal purge
    /// needs no separate purge.
    combinable: HashMap<u64, u64>,
    hasher: RandomState,
    /// Purges whose receipts changed since [`PurgeOutbox::take_changed`].
    changed: BTreeSet<u64>,
    answers_due: BTreeSet<(ClockMs, u64)>,
    /// Lost purges that do not wait for receipts here, in the order of the times at which they are due.
    lost: BTreeMap<(ClockMs, u64), ClusterPurge>,
    lost_keys: HashMap<PurgeId, (ClockMs, u64)>,
}

impl PurgeOutbox {
    /// Creates an outbox in which at most `max_unsent_bytes` of own purges wait for the log, and above `max_own_bytes` of
    /// own purges, those in the log do not wait for receipts.
    pub(super) fn new(max_unsent_bytes: usize, max_own_bytes: usize) -> Self {
        Self {
            own: BTreeMap::new(),
            last_key: 0,
            keys: HashMap::new(),
            tickets: HashMap::new(),
            has_excess: false,
            unsent: BTreeSet::new(),
            unsent_bytes: 0,
            max_unsent_bytes,
            restored: 0,
            restored_bytes: 0,
            own_bytes: 0,
            max_own_bytes,
            combinable: HashMap::new(),
            hasher: RandomState::new(),
            changed: BTreeSet::new(),
            answers_due: BTreeSet::new(),
            lost: BTreeMap::new(),
            lost_keys: HashMap::new(),
        }
    }

    /// Adds an own purge, and returns its key.
    pub(super) fn add(&mut self, purge: OwnPurge) -> u64 {
        self.last_key += 1;
        let key = self.last_key;
        self.keys.insert(purge.purge.id, key);
        self.unsent.insert(key);
        self.unsent_bytes += purge.purge.encoded_len();
        self.own_bytes += purge.purge.encoded_len();
        if purge.is_restored {
            self.restored += 1;
            self.restored_bytes += purge.purge.encoded_len();
        } else {
            self.combinable.insert(self.hash(&purge.purge.zone, &purge.purge.body), key);
        }
        self.own.insert(key, purge);
        self.changed.insert(key);
        key
    }

    /// Adds a request to the purge with this key, which exists.
    pub(super) fn add_request(&mut self, key: u64, request: PurgeRequest) {
        let Some(own) = self.own.get_mut(&key) else { return };
        own.requests.push(request);
        own.waiting_saves += 1;
        self.tickets.insert(request.ticket, own.purge.id);
        self.answers_due.insert((request.answer_due_at, key));
        self.changed.insert(key);
    }

    /// Finds a purge of this node that makes a new purge of `body` in `zone` unnecessary, and returns its key: an equal
    /// purge, or one of all pages of the zone or of all zones. Only purges that were never part of an append to the log are
    /// searched: other nodes cannot have executed them yet, so these also cover the pages stored there until now.
    pub(super) fn find_combinable(&self, zone: &str, body: &[u8]) -> Option<u64> {
        [(zone, body), (zone, &[]), ("", &[])].into_iter().find_map(|(zone, body)| {
            let key = *self.combinable.get(&self.hash(zone, body))?;
            let purge = &self.own.get(&key)?.purge;
            (purge.zone == zone && *purge.body == *body).then_some(key)
        })
    }

    fn hash(&self, zone: &str, body: &[u8]) -> u64 {
        self.hasher.hash_one((zone, body))
    }

    /// Notes that these purges are part of an append, which may succeed without a reply.
    pub(super) fn note_sent(&mut self, purges: &[ClusterPurge]) {
        for purge in purges {
            if let Some(&key) = self.keys.get(&purge.id) {
                self.end_combining(key, purge);
            }
        }
    }

    fn end_combining(&mut self, key: u64, purge: &ClusterPurge) {
        let hash = self.hash(&purge.zone, &purge.body);
        if self.combinable.get(&hash) == Some(&key) {
            self.combinable.remove(&hash);
        }
    }

    /// True if the maximum number or size of purges that wait for the log is reached. One purge of each zone must then
    /// replace them.
    ///
    /// Purges of an earlier lifetime do not count: they may have been in the log.
    pub(super) fn is_full(&self) -> bool {
        self.unsent.len() >= MAX_UNSENT + self.restored
            || self.unsent_bytes >= self.max_unsent_bytes + self.restored_bytes
    }

    /// Removes all own purges that are not in the log, and returns them.
    pub(super) fn take_unsent(&mut self) -> Vec<OwnPurge> {
        let keys = std::mem::take(&mut self.unsent);
        self.unsent_bytes = 0;
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Removes an own purge.
    pub(super) fn remove(&mut self, key: u64) -> Option<OwnPurge> {
        let purge = self.own.remove(&key)?;
        self.keys.remove(&purge.purge.id);
        self.own_bytes -= purge.purge.encoded_len();
        if purge.is_restored {
            self.restored -= 1;
            self.restored_bytes -= purge.purge.encoded_len();
        }
        for request in &purge.requests {
            self.answers_due.remove(&(request.answer_due_at, key));
        }
        self.end_combining(key, &purge.purge);
        self.has_excess &= !self.own.is_empty();
        Some(purge)
    }

    /// Notes the result of the save of the purge with this ticket. Returns the purge's ID and the result for all requests.
    pub(super) fn note_save(&mut self, ticket: PurgeTicket, is_saved: bool) -> Option<(PurgeId, SaveState)> {
        let purge = self.tickets.remove(&ticket)?;
        let Some(&key) = self.keys.get(&purge) else {
            // A purge of all pages has replaced it. This node applies that when its record is read.
            return Some((purge, SaveState::Saved));
        };
        let own = self.own.get_mut(&key)?;
        own.waiting_saves -= 1;
        own.has_failed_save |= !is_saved;
        self.changed.insert(key);
        Some((purge, own.save()))
    }

    /// Notes that a purge is durable here, if it is an own purge whose save failed before.
    pub(super) fn note_repeated_save(&mut self, purge: PurgeId) {
        if let Some(key) = self.keys.get(&purge)
            && let Some(own) = self.own.get_mut(key)
        {
            own.has_failed_save = false;
            self.changed.insert(*key);
        }
    }

    /// True if the save of this own purge failed.
    pub(super) fn has_failed_save(&self, purge: PurgeId) -> bool {
        self.find(purge).is_some_and(|own| own.save() == SaveState::Failed)
    }

    /// If the number or size of own purges exceeds its maximum, removes the oldest that is in the log and whose save is
    /// complete.
    pub(super) fn take_excess(&mut self) -> Option<OwnPurge> {
        if self.own.len() <= MAX_OWN && self.own_bytes <= self.max_own_bytes {
            return None;
        }
        let mut own = self.own.iter();
        let key = *own.find(|(_, own)| own.record.is_some() && own.save() != SaveState::Waiting)?.0;
        self.has_excess = true;
        self.remove(key)
    }

    /// Continues with the mark of an earlier lifetime: true if a purge in the log was removed before every member had
    /// confirmed it. Purges that remain are newer; without any, every member has confirmed the removed ones, too.
    pub(super) fn restore_excess(&mut self, has_excess: bool) {
        self.has_excess = has_excess;
    }

    /// True if a purge in the log was removed before every member had confirmed it. If the log loses records, such a
    /// purge may be among them.
    pub(super) fn has_excess(&self) -> bool {
        self.has_excess
    }

    /// IDs of own purges whose save is in progress.
    pub(super) fn not_durable(&self) -> Vec<PurgeId> {
        self.tickets.values().copied().collect()
    }

    /// Returns the own purge with this ID, if it waits for receipts.
    pub(super) fn find(&self, purge: PurgeId) -> Option<&OwnPurge> {
        self.own.get(self.keys.get(&purge)?)
    }

    /// Notes that a record of the log has these purges.
    pub(super) fn note_record(&mut self, position: LogPosition, purges: &[ClusterPurge]) {
        for purge in purges {
            if let Some(key) = self.keys.get(&purge.id)
                && let Some(own) = self.own.get_mut(key)
            {
                own.record = Some(position);
                self.changed.insert(*key);
                if self.unsent.remove(key) {
                    self.unsent_bytes -= own.purge.encoded_len();
                }
            }
        }
        for purge in purges {
            if let Some(key) = self.lost_keys.remove(&purge.id) {
                self.lost.remove(&key);
            }
        }
    }

    /// Marks own purges as not in the log: those of records with these tags, or all if `tags` is `None`. Returns their
    /// number.
    pub(super) fn note_lost(&mut self, tags: Option<&HashSet<RecordTag>>) -> u64 {
        let mut count = 0;
        for (&key, own) in &mut self.own {
            if own.record.is_some_and(|record| tags.is_none_or(|tags| tags.contains(&record.tag))) {
                own.record = None;
                self.unsent.insert(key);
                self.unsent_bytes += own.purge.encoded_len();
                count += 1;
            }
        }
        count
    }

    /// Adds a purge that the log has lost and that does not wait for receipts here. It is appended at `due_at` unless
    /// another node has appended it.
    pub(super) fn add_lost(&mut self, purge: ClusterPurge, due_at: ClockMs) {
        if !self.keys.contains_key(&purge.id) && !self.lost_keys.contains_key(&purge.id) {
            self.last_key += 1;
            let key = (due_at, self.last_key);
            self.lost_keys.insert(purge.id, key);
            self.lost.insert(key, purge);
        }
    }

    /// Returns the purges for the next record, up to the maximum number and size. The first purge is returned whatever
    /// its size.
    pub(super) fn next_purges(&self, now: ClockMs) -> Vec<ClusterPurge> {
        let own = self.unsent.iter().map(|key| &self.own[key].purge);
        let lost = self.lost.range(..=(now, u64::MAX)).map(|(_, purge)| purge);
        let mut bytes = 0;
        own.chain(lost)
            .take(MAX_RECORD_PURGES)
            .take_while(|purge| {
                let is_first = bytes == 0;
                bytes += purge.encoded_len();
                is_first || bytes <= MAX_RECORD_BYTES
            })
            .cloned()
            .collect()
    }

    /// True if own purges wait for the log.
    pub(super) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// True if neither own purges nor lost purges of other nodes wait for the log.
    pub(super) fn is_in_log(&self) -> bool {
        self.unsent.is_empty() && self.lost.is_empty()
    }

    /// Time at which the first lost purge is due.
    pub(super) fn lost_due_at(&self) -> Option<ClockMs> {
        self.lost.first_key_value().map(|(&(due_at, _), _)| due_at)
    }

    /// Milliseconds for which the oldest own purge has been waiting for the log; `u32::MAX` if unknown.
    pub(super) fn unsent_for_ms(&self, now: ClockMs) -> u32 {
        match self.unsent.first().map(|key| &self.own[key]) {
            None => 0,
            Some(own) if own.is_restored => u32::MAX,
            Some(own) => (now - own.requested_at).saturating_add(1).try_into().unwrap_or(u32::MAX),
        }
    }

    /// Notes the receipt of a node.
    pub(super) fn note_receipt(&mut self, node: &NodeName, purge: PurgeId) {
        if let Some(key) = self.keys.get(&purge)
            && let Some(own) = self.own.get_mut(key)
            && own.receipts.insert(node.clone())
        {
            self.changed.insert(*key);
        }
    }

    /// Own purges that are in the log without a receipt of this node, with their records.
    pub(super) fn unconfirmed<'a>(
        &'a self,
        node: &'a NodeName,
    ) -> impl Iterator<Item = (PurgeId, LogPosition)> + 'a {
        self.own
            .values()
            .filter(|own| !own.receipts.contains(node))
            .filter_map(|own| Some((own.purge.id, own.record?)))
    }

    /// Requires a new decision for each own purge, because the members changed.
    pub(super) fn change_all(&mut self) {
        self.changed.extend(self.own.keys());
    }

    /// Takes the next own purge whose receipts changed, or whose answer is due.
    pub(super) fn take_changed(&mut self, now: ClockMs) -> Option<u64> {
        if let Some(key) = self.changed.pop_first() {
            return Some(key);
        }
        let &(due_at, key) = self.answers_due.first()?;
        (due_at <= now).then_some(key)
    }

    /// Returns the purge with this key.
    pub(super) fn get(&self, key: u64) -> Option<&OwnPurge> {
        self.own.get(&key)
    }

    /// Takes the requests of a purge whose answers are due at `until` or earlier.
    pub(super) fn take_requests(&mut self, key: u64, until: ClockMs) -> Vec<PurgeRequest> {
        let Some(own) = self.own.get_mut(&key) else { return Vec::new() };
        let due: Vec<PurgeRequest> =
            own.requests.extract_if(.., |request| request.answer_due_at <= until).collect();
        for request in &due {
            self.answers_due.remove(&(request.answer_due_at, key));
        }
        due
    }

    /// Time at which the first answer is due.
    pub(super) fn answer_due_at(&self) -> Option<ClockMs> {
        self.answers_due.first().map(|&(due_at, _)| due_at)
    }

    /// Own purges in full, oldest first.
    pub(super) fn stored(&self) -> Vec<ClusterPurge> {
        self.own.values().map(|own| own.purge.clone()).collect()
    }

    /// True if a purge with this body is in memory.
    #[cfg(test)]
    pub(super) fn holds(&self, body: &[u8]) -> bool {
        self.own.values().map(|own| &own.purge).chain(self.lost.values()).any(|purge| *purge.body == *body)
    }

    /// Returns the number of own purges without all receipts, and the status of the oldest.
    pub(super) fn status(&self, members: &[&NodeName], now: ClockMs) -> (usize, Vec<PendingPurgeStatus>) {
        let status = |own: &OwnPurge| PendingPurgeStatus {
            zone: own.purge.zone.clone(),
            body: Arc::clone(&own.purge.body),
            age_ms: now.saturating_sub(own.requested_at),
            record: own.record.map(|record| record.id),
            missing: members
                .iter()
                .filter(|node| !own.receipts.contains(**node))
                .map(|&node| node.clone())
                .collect(),
        };
        (self.own.len(), self.own.values().take(STATUS_PURGES).map(status).collect())
    }
}
