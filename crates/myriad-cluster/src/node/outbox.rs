//! Purges that this node must bring into the log: its own, and lost purges of other nodes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{ClockMs, PendingPurgeStatus, PurgeTicket};
use crate::record::{
    ClusterPurge, LogPosition, MAX_RECORD_BYTES, MAX_RECORD_PURGES, NodeName, PurgeId, RecordTag,
};

/// Maximum number of purges that wait for the log; more are replaced by one purge of everything.
const MAX_UNSENT: usize = 20_000;
/// Maximum size of purges that wait for the log, in bytes.
const MAX_UNSENT_BYTES: usize = 16 << 20;
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

/// Purge that was requested on this node, until every member has confirmed it and its save has ended here.
#[derive(Debug)]
pub(super) struct OwnPurge {
    pub(super) purge: ClusterPurge,
    pub(super) requested_at: ClockMs,
    /// True if an earlier lifetime of the node requested the purge.
    pub(super) is_restored: bool,
    /// Number of the request; `None` for a purge that no request waits for.
    pub(super) ticket: Option<PurgeTicket>,
    /// Time at which the answer is due; `None` once it was given.
    pub(super) answer_due_at: Option<ClockMs>,
    pub(super) save: SaveState,
    /// Record that has the purge; `None` if the log does not have it.
    pub(super) record: Option<LogPosition>,
    pub(super) receipts: BTreeSet<NodeName>,
}

impl OwnPurge {
    pub(super) fn new(
        purge: ClusterPurge,
        requested_at: ClockMs,
        request: Option<(PurgeTicket, ClockMs)>,
    ) -> Self {
        Self {
            purge,
            requested_at,
            is_restored: false,
            ticket: request.map(|(ticket, _)| ticket),
            answer_due_at: request.map(|(_, due_at)| due_at),
            save: SaveState::Waiting,
            record: None,
            receipts: BTreeSet::new(),
        }
    }
}

#[derive(Debug)]
struct LostPurge {
    purge: ClusterPurge,
    due_at: ClockMs,
}

/// Purges that this node must bring into the log, and own purges that wait for receipts.
#[derive(Debug, Default)]
pub(super) struct PurgeOutbox {
    own: BTreeMap<u64, OwnPurge>,
    last_key: u64,
    keys: HashMap<PurgeId, u64>,
    /// Purges whose save has not ended.
    tickets: HashMap<PurgeTicket, PurgeId>,
    /// True if a purge in the log was removed before every member had confirmed it.
    has_excess: bool,
    /// Own purges that are not in the log.
    unsent: BTreeSet<u64>,
    unsent_bytes: usize,
    /// Purges whose receipts changed since [`PurgeOutbox::take_changed`].
    changed: BTreeSet<u64>,
    answers_due: BTreeSet<(ClockMs, u64)>,
    lost: Vec<LostPurge>,
}

impl PurgeOutbox {
    /// Adds an own purge.
    pub(super) fn add(&mut self, purge: OwnPurge) {
        self.last_key += 1;
        let key = self.last_key;
        self.keys.insert(purge.purge.id, key);
        if let Some(ticket) = purge.ticket.filter(|_| purge.save == SaveState::Waiting) {
            self.tickets.insert(ticket, purge.purge.id);
        }
        if let Some(due_at) = purge.answer_due_at {
            self.answers_due.insert((due_at, key));
        }
        if purge.record.is_none() {
            self.unsent.insert(key);
            self.unsent_bytes += purge.purge.encoded_len();
        }
        self.own.insert(key, purge);
        self.changed.insert(key);
    }

    /// True if the maximum number or size of purges that wait for the log is reached. A purge of everything must then
    /// replace them.
    pub(super) fn is_full(&self) -> bool {
        self.unsent.len() >= MAX_UNSENT || self.unsent_bytes >= MAX_UNSENT_BYTES
    }

    /// Removes all own purges that are not in the log, and returns them.
    pub(super) fn take_unsent(&mut self) -> Vec<OwnPurge> {
        let keys = std::mem::take(&mut self.unsent);
        self.unsent_bytes = 0;
        keys.into_iter().filter_map(|key| self.remove(key)).collect()
    }

    /// Removes a purge.
    pub(super) fn remove(&mut self, key: u64) -> Option<OwnPurge> {
        let purge = self.own.remove(&key)?;
        self.keys.remove(&purge.purge.id);
        if let Some(due_at) = purge.answer_due_at {
            self.answers_due.remove(&(due_at, key));
        }
        self.has_excess &= !self.own.is_empty();
        Some(purge)
    }

    /// Notes that the purge with this ticket is durable here, and returns its ID.
    pub(super) fn note_ticket_saved(&mut self, ticket: PurgeTicket) -> Option<PurgeId> {
        let purge = self.tickets.remove(&ticket)?;
        self.set_save(purge, SaveState::Saved);
        Some(purge)
    }

    /// Notes that the save of the purge with this ticket failed, and returns its ID.
    pub(super) fn note_ticket_failed(&mut self, ticket: PurgeTicket) -> Option<PurgeId> {
        let purge = self.tickets.remove(&ticket)?;
        self.set_save(purge, SaveState::Failed);
        Some(purge)
    }

    /// Notes that a purge is durable here, if it is an own purge.
    pub(super) fn note_saved(&mut self, purge: PurgeId) {
        self.set_save(purge, SaveState::Saved);
    }

    fn set_save(&mut self, purge: PurgeId, save: SaveState) {
        if let Some(key) = self.keys.get(&purge)
            && let Some(own) = self.own.get_mut(key)
        {
            own.save = save;
            self.changed.insert(*key);
        }
    }

    /// True if the save of this own purge failed.
    pub(super) fn has_failed_save(&self, purge: PurgeId) -> bool {
        self.find(purge).is_some_and(|own| own.save == SaveState::Failed)
    }

    /// If too many own purges are in memory, removes the oldest that is in the log and whose save has ended.
    pub(super) fn take_excess(&mut self) -> Option<OwnPurge> {
        if self.own.len() <= MAX_OWN {
            return None;
        }
        let mut own = self.own.iter();
        let key = *own.find(|(_, own)| own.record.is_some() && own.save != SaveState::Waiting)?.0;
        self.has_excess = true;
        self.remove(key)
    }

    /// True if a purge in the log was removed before every member had confirmed it. If the log loses records, such a
    /// purge may be among them.
    pub(super) fn has_excess(&self) -> bool {
        self.has_excess
    }

    /// IDs of own purges whose save has not ended.
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
        if !self.lost.is_empty() {
            self.lost.retain(|lost| !purges.iter().any(|purge| purge.id == lost.purge.id));
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
        if !self.keys.contains_key(&purge.id) && !self.lost.iter().any(|lost| lost.purge.id == purge.id) {
            self.lost.push(LostPurge { purge, due_at });
        }
    }

    /// Returns the purges for the next record, up to the maximum number and size. The first purge is returned whatever
    /// its size.
    pub(super) fn next_purges(&self, now: ClockMs) -> Vec<ClusterPurge> {
        let own = self.unsent.iter().map(|key| &self.own[key].purge);
        let lost = self.lost.iter().filter(|lost| lost.due_at <= now).map(|lost| &lost.purge);
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

    /// Time at which the first lost purge is due.
    pub(super) fn lost_due_at(&self) -> Option<ClockMs> {
        self.lost.iter().map(|lost| lost.due_at).min()
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

    /// Notes that the answer to a purge is given; returns the ticket if it was not given before.
    pub(super) fn take_answer(&mut self, key: u64) -> Option<PurgeTicket> {
        let own = self.own.get_mut(&key)?;
        self.answers_due.remove(&(own.answer_due_at.take()?, key));
        own.ticket
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
        let lost = self.lost.iter().map(|lost| &lost.purge);
        self.own.values().map(|own| &own.purge).chain(lost).any(|purge| purge.body == body)
    }

    /// Returns the number of own purges without all receipts, and the status of the oldest.
    pub(super) fn status(&self, members: &[&NodeName], now: ClockMs) -> (usize, Vec<PendingPurgeStatus>) {
        let status = |own: &OwnPurge| PendingPurgeStatus {
            zone: own.purge.zone.clone(),
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
