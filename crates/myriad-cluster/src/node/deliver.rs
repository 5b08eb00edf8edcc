//! Delivery of purges: own purges to the log, receipts to other nodes, answers to requests.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::apply::BatchContents;
use super::bug::SeededBug;
use super::commands::CommandKind;
use super::history::LostRecords;
use super::machine::UnconfirmedAppend;
use super::outbox::{OwnPurge, PurgeRequest, SaveState};
use super::{
    BatchNumber, ClockMs, ClusterAction, ClusterCommand, ClusterMessage, ClusterNode, LinkState, LogEntry,
    LogTail, MissingReceipt, PurgeAnswer, PurgeTicket,
};
use crate::record::{
    ClusterPurge, EntryId, LogPosition, LogRecord, MAX_PURGE_BYTES, NodeName, PurgeId, ReceiptRecord,
    RecordContents, RecordTag, StoredNode,
};

/// Maximum number of purges in a receipt.
const RECEIPT_PURGES: usize = 4096;
/// Interval of appends that are refused or fail, in milliseconds.
const RETRY_MS: u64 = 1000;
/// Minimum and maximum time before a node appends lost purges of other nodes, in milliseconds. Their own node appends
/// them at once if it runs.
const LOST_DELAY_MS: std::ops::RangeInclusive<u64> = 1000..=3000;

impl ClusterNode {
    /// Handles a purge that was requested here and is in effect here.
    pub(super) fn request_purge(
        &mut self,
        ticket: PurgeTicket,
        zone: String,
        body: Vec<u8>,
        wait_ms: u64,
        now: ClockMs,
    ) {
        self.counters.purges_requested += 1;
        self.upkeep.note_change();
        let request = PurgeRequest { ticket, requested_at: now, answer_due_at: now + wait_ms };
        if body.len() > MAX_PURGE_BYTES {
            self.log(ClusterMessage::PurgeTooLarge(body.len()));
            self.purge_zone(zone, request, now);
        } else if let Some(key) = self.outbox.find_combinable(&zone, &body) {
            self.outbox.add_request(key, request);
        } else if self.outbox.is_full() {
            self.log(ClusterMessage::TooManyPurges);
            let replaced = self.outbox.take_unsent();
            let zones: BTreeSet<&String> = replaced.iter().map(|own| &own.purge.zone).collect();
            for zone in zones {
                let purge = self.new_purge(zone.clone(), Vec::new());
                self.outbox.add(OwnPurge::new(purge, now));
            }
            for own in &replaced {
                self.answer_removed(own, now);
            }
            self.purge_zone(zone, request, now);
        } else {
            let purge = self.new_purge(zone, body);
            self.history.add_known(purge.id);
            let key = self.outbox.add(OwnPurge::new(purge, now));
            self.outbox.add_request(key, request);
        }
        while let Some(own) = self.outbox.take_excess() {
            self.answer_removed(&own, now);
        }
    }

    /// Requests a purge of all pages of a zone. This node applies it, too, once it is in the log.
    fn purge_zone(&mut self, zone: String, request: PurgeRequest, now: ClockMs) {
        let key = self.outbox.find_combinable(&zone, &[]).unwrap_or_else(|| {
            let purge = self.new_purge(zone, Vec::new());
            self.outbox.add(OwnPurge::new(purge, now))
        });
        self.outbox.add_request(key, request);
    }

    fn new_purge(&mut self, zone: String, body: Vec<u8>) -> ClusterPurge {
        self.last_sequence += 1;
        let id = PurgeId { start: self.start, sequence: self.last_sequence };
        ClusterPurge { id, origin: self.settings.node.clone(), zone, body: body.into() }
    }

    /// Replaces all own purges that wait for the log by a purge of everything. This node applies it, too, once it is in
    /// the log: the replaced purges need not be durable here.
    fn purge_everything(&mut self, now: ClockMs) {
        self.upkeep.note_change();
        for replaced in self.outbox.take_unsent() {
            self.answer_removed(&replaced, now);
        }
        let purge = self.new_purge(String::new(), Vec::new());
        self.outbox.add(OwnPurge::new(purge, now));
    }

    /// Handles the result of the save of an own purge.
    pub(super) fn handle_purge_saved(&mut self, ticket: PurgeTicket, is_saved: bool, now: ClockMs) {
        if !is_saved {
            self.log(ClusterMessage::PurgesNotSaved);
        }
        let is_saved = is_saved || self.has_bug(SeededBug::OwnFailedSaveIgnored);
        let Some((purge, save)) = self.outbox.note_save(ticket, is_saved) else { return };
        match (save, self.outbox.find(purge)) {
            (SaveState::Waiting, _) => {}
            (SaveState::Failed, Some(own)) => self.queue.note_own_unsaved(&own.purge, now),
            (SaveState::Failed, None) | (SaveState::Saved, _) => self.queue.note_durable(purge),
        }
    }

    /// Handles the confirmation of an action that applies purges.
    pub(super) fn handle_applied(&mut self, batch: BatchNumber) {
        if let Some(BatchContents::Purges(purges)) = self.queue.confirm(batch) {
            for purge in purges {
                self.outbox.note_repeated_save(purge.id);
            }
        }
    }

    /// Handles the failure to save purges that were applied.
    pub(super) fn handle_applied_not_saved(&mut self, batch: BatchNumber, now: ClockMs) {
        if self.has_bug(SeededBug::FailedSaveConfirmed) {
            return self.handle_applied(batch);
        }
        self.queue.note_unsaved(batch, now);
        self.log(ClusterMessage::PurgesNotSaved);
    }

    /// Repeats purges whose save failed.
    pub(super) fn step_repetition(&mut self, now: ClockMs) {
        if self.queue.repeat_due_at().is_some_and(|due_at| due_at <= now) {
            let batch = self.next_batch();
            if let Some(contents) = self.queue.begin_repetition(batch) {
                // Pages that were fetched at the newest record become stale; the next record is after the repetition.
                if matches!(contents, BatchContents::Everything(_)) {
                    self.leave_chain();
                }
                self.actions.push_back(contents.into_action(batch));
            }
        }
    }

    /// Answers a purge that does not wait for receipts any more.
    fn answer_removed(&mut self, own: &OwnPurge, now: ClockMs) {
        for request in own.requests() {
            let answer = self.answer(own, request, now);
            self.actions.push_back(ClusterAction::Answer { ticket: request.ticket, answer });
        }
    }

    /// Continues with the state of an earlier lifetime.
    pub(super) fn restore(&mut self, stored: StoredNode, now: ClockMs) {
        if let Some(applied) = stored.applied {
            self.applied = Some(applied);
            self.history.restore(applied, &stored.records);
        }
        self.stored_generation = stored.generation;
        self.outbox.restore_excess(stored.has_excess);
        for purge in stored.pending {
            // It is applied again when it is read: it need not have been durable here.
            self.outbox.add(OwnPurge::restored(purge, now));
        }
    }

    /// Time at which the next append is due.
    pub(super) fn append_due_at(&self) -> Option<ClockMs> {
        let is_ready = self.link == LinkState::Following && self.append.is_none() && self.tail.is_some();
        if !is_ready {
            return None;
        }
        // A record without purges clears `is_off_chain`.
        let is_due = self.outbox.has_unsent() || self.is_off_chain;
        let due_at = if is_due { Some(0) } else { self.outbox.lost_due_at() };
        due_at.map(|due_at| due_at.max(self.append_at))
    }

    /// Appends purges that are due.
    pub(super) fn step_append(&mut self, now: ClockMs) {
        if self.append_due_at().is_none_or(|due_at| due_at > now) {
            return;
        }
        let (Some(position), Some(tail)) = (self.history.position(), self.tail.clone()) else { return };
        let largest = position.id.max(tail.id);
        let Some(id) = largest.next_number().or_else(|| largest.next_epoch()) else {
            self.append_at = now + RETRY_MS;
            return;
        };
        let purges = self.outbox.next_purges(now);
        self.outbox.note_sent(&purges);
        self.send_append(id, position, Some(tail), purges, now);
    }

    /// Sends a record to be appended after the newest entry `expected`.
    pub(super) fn send_append(
        &mut self,
        id: EntryId,
        predecessor: LogPosition,
        expected: Option<LogTail>,
        purges: Vec<ClusterPurge>,
        now: ClockMs,
    ) {
        let writer = self.settings.node.clone();
        let record = LogRecord { id, predecessor, writer, contents: RecordContents::Purges(purges) };
        let (bytes, tag) = record.encode(&self.settings.secret);
        self.append = Some(UnconfirmedAppend { record, tag, is_outdated: false });
        let max_records = self.settings.timings.max_log_records;
        self.send(
            CommandKind::Append,
            ClusterCommand::Append { id, expected, record: bytes, max_records },
            now,
        );
    }

    /// Handles the confirmation of an append.
    pub(super) fn handle_appended(&mut self, now: ClockMs) {
        let Some(UnconfirmedAppend { record, tag, is_outdated }) = self.append.take() else { return };
        self.counters.records_appended += 1;
        self.lost_races = 0;
        if self.link == LinkState::Founding {
            self.confirm_first_record(&record, tag, is_outdated, now);
        } else if self.link == LinkState::Following && self.history.position() == Some(record.predecessor) {
            // The record follows the newest entry, which this node has read; so nothing lies between.
            self.tail = Some(LogTail { id: record.id, end: tag.0.to_vec() });
            self.accept(&record, tag, now);
            self.is_off_chain &= is_outdated;
        }
        // In other states, the record is found by reading.
    }

    /// Handles the reply that the log has not appended this node's record, usually because another node has appended one
    /// first. `last_id` is the largest ID that was ever in the log. If the node starts a log, see
    /// [`Self::refuse_first_record`].
    pub(super) fn handle_not_appended(&mut self, last_id: EntryId, now: ClockMs) {
        let refused = self.append.take();
        self.counters.appends_refused += 1;
        if self.link == LinkState::Founding {
            return self.refuse_first_record(last_id, now);
        }
        // The new entry is read at once. If there is none, the log has lost its newest entries, and
        // the check detects the loss.
        self.lost_races += 1;
        self.append_at = now + RETRY_MS;
        if refused.is_some_and(|refused| self.history.position() != Some(refused.record.predecessor)) {
            self.note_new_entry(now); // it was read before the refusal arrived
        }
        if self.link == LinkState::Following
            && !self.commands.has(|kind| matches!(kind, CommandKind::Check { .. }))
        {
            self.send_check(None, now);
        }
    }

    /// Handles the failure of an append.
    pub(super) fn delay_append(&mut self, now: ClockMs) {
        self.append = None;
        self.append_at = now + RETRY_MS;
    }

    /// Notes that the log has a new entry: a refused append may be repeated, after a random time that grows with the
    /// number of refusals in succession.
    pub(super) fn note_new_entry(&mut self, now: ClockMs) {
        if self.lost_races > 0 {
            self.append_at = now + self.random.u64(..1 << self.lost_races.min(5));
        }
    }

    /// Appends purges of lost records again.
    pub(super) fn repeat_lost(&mut self, lost: LostRecords, now: ClockMs) {
        if self.has_bug(SeededBug::LostPurgesForgotten) {
            return;
        }
        self.counters.purges_repeated += self.outbox.note_lost(Some(&lost.tags));
        for purge in lost.purges {
            self.repeat_purge(purge, now);
        }
        if lost.is_incomplete || self.outbox.has_excess() {
            self.purge_everything(now);
        }
    }

    /// Appends all purges again that are in memory.
    pub(super) fn repeat_all(&mut self, purges: Vec<ClusterPurge>, now: ClockMs) {
        if self.has_bug(SeededBug::LostPurgesForgotten) {
            return;
        }
        self.counters.purges_repeated += self.outbox.note_lost(None);
        for purge in purges {
            self.repeat_purge(purge, now);
        }
        if self.outbox.has_excess() {
            self.purge_everything(now);
        }
    }

    fn repeat_purge(&mut self, purge: ClusterPurge, now: ClockMs) {
        let is_own = purge.origin == self.settings.node;
        let delay = if is_own { 0 } else { self.random.u64(LOST_DELAY_MS) };
        self.outbox.add_lost(purge, now + delay);
    }

    /// Moves the applied position over records that are applied, and sends receipts for their purges.
    pub(super) fn finish_applied(&mut self, now: ClockMs) {
        let mut receipts = Vec::new();
        if let Some(fresh_at) = self.queue.effective_to() {
            self.contact.note_fresh(fresh_at);
        }
        while let Some(record) = self.queue.pop_applied() {
            self.applied = Some(record.position);
            self.upkeep.note_change();
            receipts.extend(record.receipts);
            if let Some(fresh_at) = record.fresh_at {
                self.contact.note_durable(fresh_at);
            }
        }
        if self.is_replayed && self.queue.is_in_effect() {
            self.contact.note_replayed();
        }
        self.send_receipts(receipts, now);
    }

    /// Sends receipts, one for each node and 4096 purges.
    pub(super) fn send_receipts(&mut self, receipts: Vec<(NodeName, PurgeId)>, now: ClockMs) {
        if self.link == LinkState::Disconnected || self.upkeep.is_name_taken() {
            return; // the position in the member record confirms the purges later
        }
        let mut by_origin: BTreeMap<NodeName, Vec<PurgeId>> = BTreeMap::new();
        for (origin, purge) in receipts {
            by_origin.entry(origin).or_default().push(purge);
        }
        for (to, purges) in by_origin {
            for part in purges.chunks(RECEIPT_PURGES) {
                let receipt = ReceiptRecord { node: self.settings.node.clone(), purges: part.to_vec() };
                let record = receipt.encode(&self.settings.secret, &to);
                let what = ClusterCommand::SendReceipt { to: to.clone(), record };
                self.send(CommandKind::Other("XADD"), what, now);
            }
        }
    }

    /// Handles entries of this node's receipts.
    pub(super) fn handle_receipts(&mut self, entries: &[LogEntry]) {
        for entry in entries {
            if entry.id <= self.receipts_after {
                continue;
            }
            self.receipts_after = entry.id;
            match ReceiptRecord::decode(&self.settings.secret, &self.settings.node, &entry.record) {
                Ok(receipt) => {
                    self.counters.receipts += 1;
                    for purge in receipt.purges {
                        self.outbox.note_receipt(&receipt.node, purge);
                    }
                }
                Err(error) => self.refuse(ClusterMessage::InvalidReceipt(error)),
            }
        }
    }

    /// Handles the position that a member reports: every purge in a record before it is applied there.
    pub(super) fn confirm_by_position(&mut self, node: &NodeName, applied: LogPosition) {
        let Some(oldest) = self.outbox.unconfirmed(node).map(|(_, record)| record.id).min() else { return };
        let is_current = self.history.is_before_position(applied);
        let confirmed: HashSet<RecordTag> = if self.has_bug(SeededBug::BranchesConfused) {
            self.outbox
                .unconfirmed(node)
                .map(|(_, at)| at)
                .filter(|at| at.id <= applied.id)
                .map(|at| at.tag)
                .collect()
        } else {
            self.history.ancestors(applied).take_while(|at| at.id >= oldest).map(|at| at.tag).collect()
        };
        // A record that is no longer in the history is older than every record in it.
        let is_confirmed = |record: LogPosition| {
            confirmed.contains(&record.tag) || is_current && self.history.find(record.tag).is_none()
        };
        let purges = self.outbox.unconfirmed(node).filter(|&(_, record)| is_confirmed(record));
        let purges: Vec<PurgeId> = purges.map(|(purge, _)| purge).collect();
        for purge in purges {
            self.outbox.note_receipt(node, purge);
        }
    }

    /// Answers purges that every member has confirmed, or whose time is over.
    pub(super) fn step_answers(&mut self, now: ClockMs) {
        while let Some(key) = self.outbox.take_changed(now) {
            let Some(own) = self.outbox.get(key) else { continue };
            let is_confirmed = own.record.is_some()
                && self.members.is_known()
                && self.members.expected().all(|(node, _)| own.receipts.contains(node));
            let is_finished = is_confirmed && own.save() != SaveState::Waiting;
            let is_complete = is_finished || self.is_wait_useless(own, now);
            for request in self.outbox.take_requests(key, if is_complete { ClockMs::MAX } else { now }) {
                let Some(own) = self.outbox.get(key) else { continue };
                let answer = self.answer(own, &request, now);
                self.actions.push_back(ClusterAction::Answer { ticket: request.ticket, answer });
            }
            if is_finished {
                self.outbox.remove(key);
                self.upkeep.note_change();
            }
        }
    }

    /// Returns true if only silent members have not confirmed a purge: no receipt is expected within its time.
    fn is_wait_useless(&self, own: &OwnPurge, now: ClockMs) -> bool {
        let silent_ms = self.settings.timings.detection_ms;
        (own.record.is_some() || self.link == LinkState::Disconnected)
            && own.save() != SaveState::Waiting
            && self.members.is_known()
            && self
                .members
                .expected()
                .all(|(node, _)| own.receipts.contains(node) || self.members.is_silent(node, silent_ms, now))
    }

    fn answer(&self, own: &OwnPurge, request: &PurgeRequest, now: ClockMs) -> PurgeAnswer {
        let silent_ms = self.settings.timings.detection_ms;
        let missing = |(node, _): (&NodeName, _)| {
            let is_silent = self.members.is_silent(node, silent_ms, now);
            (!own.receipts.contains(node)).then(|| MissingReceipt { node: node.clone(), is_silent })
        };
        PurgeAnswer {
            applied: own.receipts.iter().cloned().collect(),
            missing: self.members.expected().filter_map(missing).collect(),
            members_known: self.members.is_known(),
            is_in_log: own.record.is_some(),
            is_saved: own.save() == SaveState::Saved,
            elapsed_ms: now.saturating_sub(request.requested_at),
        }
    }
}
