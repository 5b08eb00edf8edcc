//! Regular work of a node (its member record, the length of the log, the position file), and its shutdown.

use super::apply::UnappliedRecord;
use super::bug::SeededBug;
use super::commands::CommandKind;
use super::schedule::{RivalRecord, StopState};
use super::{
    BatchNumber, ClockMs, ClusterAction, ClusterCommand, ClusterMessage, ClusterNode, ExpiryReason, LinkState,
};
use crate::record::{MemberRecord, MemberState, NodeName, StoredNode};

/// Number of records in the position file.
const STORED_RECORDS: usize = 256;
/// Time for the last write of the position file, in milliseconds.
const LAST_STORE_MS: u64 = 1000;
/// Number of samples of the position with which the log is trimmed by age.
const TRIM_SAMPLES: u64 = 60;

impl ClusterNode {
    /// Reads the members when that is due; what depends on them follows with the reply. With many members, every second
    /// heartbeat only writes the member record.
    pub(super) fn step_heartbeat(&mut self, now: ClockMs) {
        if now < self.upkeep.heartbeat_at {
            return;
        }
        self.upkeep.heartbeat_at = now + self.settings.timings.heartbeat_ms;
        if self.upkeep.skips_next_read {
            self.upkeep.skips_next_read = false;
            if self.generation > 0 {
                self.report_activity(now);
            }
        } else {
            self.upkeep.skips_next_read = self.beats_between_reads() > 1;
            if !self.commands.has(|kind| *kind == CommandKind::Members) {
                self.send(CommandKind::Members, ClusterCommand::ReadMembers, now);
            }
        }
        self.trim(now);
    }

    /// Returns the number of heartbeats from one read of the members to the next. Each node reads the records of all, so
    /// with many members, the reads are half as frequent as the writes.
    pub(super) fn beats_between_reads(&self) -> u64 {
        if self.members.expected().count() < self.settings.timings.many_members { 1 } else { 2 }
    }

    /// Returns the present interval of reads of the members, in milliseconds.
    pub(super) fn members_interval_ms(&self) -> u64 {
        self.beats_between_reads() * self.settings.timings.heartbeat_ms
    }

    /// Writes the member record, unless this process does not count as the node.
    fn report_activity(&mut self, now: ClockMs) {
        if !self.upkeep.is_name_taken() && !self.upkeep.is_leaving() {
            self.write_member(MemberState::Active, now);
        }
    }

    /// Writes the member record and checks the position, after a reply with the members that was requested at `sent_at`.
    pub(super) fn after_members(&mut self, sent_at: ClockMs, now: ClockMs) {
        self.report_activity(now);
        if self.link == LinkState::Following
            && !self.commands.has(|kind| matches!(kind, CommandKind::Check { .. }))
        {
            let complete_to = if self.has_bug(SeededBug::SilentMembersTrusted) {
                Some(sent_at)
            } else {
                self.members.complete_to(sent_at).filter(|_| !self.upkeep.is_name_taken())
            };
            self.send_check(complete_to, now);
        }
    }

    fn write_member(&mut self, state: MemberState, now: ClockMs) -> bool {
        if self.commands.has(|kind| matches!(kind, CommandKind::Member { .. })) {
            return false;
        }
        self.upkeep.sent_counter += 1;
        let counter = self.upkeep.sent_counter;
        let record = MemberRecord {
            start: self.start,
            generation: self.generation,
            counter,
            confirmed: self.upkeep.confirmed_counter,
            state,
            applied: self.applied,
            // In other states, the log may have lost purges without a notice of this node.
            unsent_for_ms: if self.link == LinkState::Following {
                self.outbox.unsent_for_ms(now)
            } else {
                u32::MAX
            },
            address: self.settings.address.clone(),
            software: self.settings.software.clone(),
        };
        let record = record.encode(&self.settings.secret, &self.settings.node);
        self.send(CommandKind::Member { counter }, ClusterCommand::WriteMember { record }, now);
        true
    }

    /// Compares the stored record of this node's name with the own one. If two processes use the name, it belongs to the
    /// one with the larger generation, which started later. The other one writes neither member records nor positions and
    /// sends no receipts, so that no process confirms purges for the other.
    pub(super) fn check_name(&mut self, stored: Option<&MemberRecord>, now: ClockMs) {
        let other = stored.filter(|record| {
            // Before the first confirmed write, the record is that of an earlier lifetime.
            record.start != self.start
                && record.state == MemberState::Active
                && self.upkeep.confirmed_counter > 0
                && (record.generation, record.start.0) > (self.generation, self.start.0)
        });
        let silent_ms = self.settings.timings.silent_ms;
        let Some(record) = other else {
            if self.upkeep.rival.take().is_some() {
                self.generation = stored.map_or(0, |record| record.generation).max(self.generation) + 1;
                self.log(ClusterMessage::NameFree);
            }
            return;
        };
        let seen = RivalRecord { start: record.start, counter: record.counter, changed_at: now };
        match &mut self.upkeep.rival {
            None => {
                self.upkeep.rival = Some(seen);
                let node = self.settings.node.clone();
                self.log(ClusterMessage::NameTaken { node, address: record.address.clone() });
            }
            Some(rival) if (seen.start, seen.counter) != (rival.start, rival.counter) => *rival = seen,
            Some(rival) if now.saturating_sub(rival.changed_at) >= silent_ms => {
                self.upkeep.rival = None;
                self.upkeep.confirmed_counter = 0;
                self.generation = record.generation.saturating_add(1);
                self.log(ClusterMessage::NameFree);
            }
            Some(_) => {}
        }
    }

    /// Writes the records of removals that the list of members does not have.
    pub(super) fn write_removals(&mut self, now: ClockMs) {
        if self.link == LinkState::Disconnected {
            return;
        }
        for (node, removal) in self.members.unwritten_removals() {
            let record = removal.encode(&self.settings.secret, &node);
            self.send(CommandKind::Other("HSET"), ClusterCommand::ForgetMember { node, record }, now);
        }
    }

    /// Chooses the generation with which this process joins, given the record of its name in the list of members: one more
    /// than in this record and in the position file, because the list may be an old backup. If an administrator has removed
    /// this process, it joins again: its pages may have missed purges, because nodes that have read the removal do not wait
    /// for this node.
    pub(super) fn check_generation(&mut self, stored: Option<&MemberRecord>) {
        let found = stored.map_or(0, |record| record.generation).max(self.stored_generation);
        let removal = stored.filter(|record| record.state == MemberState::Removed);
        if self.generation > 0 && removal.is_none_or(|removal| removal.generation < self.generation) {
            return;
        }
        self.generation = found.max(self.generation).saturating_add(1);
        self.upkeep.note_change();
        if removal.is_some_and(|removal| removal.start == self.start)
            && let Some(position) = self.history.position()
        {
            self.leave_chain();
            let batch = self.expire_everything(ExpiryReason::Removed);
            let own = self.outbox.not_durable();
            self.queue.push(UnappliedRecord { own, ..UnappliedRecord::new(position, Some(batch)) });
        }
    }

    /// Deletes the record of a member.
    pub(super) fn remove_member(&mut self, node: NodeName, now: ClockMs) {
        self.outbox.change_all();
        if self.link != LinkState::Disconnected {
            self.send(CommandKind::Other("HDEL"), ClusterCommand::RemoveMember { node }, now);
        }
    }

    /// Removes records from the log that are too old.
    fn trim(&mut self, now: ClockMs) {
        let trim_ms = self.settings.timings.trim_ms;
        if now < self.upkeep.sample_at || self.link != LinkState::Following {
            return;
        }
        self.upkeep.sample_at = now + trim_ms / TRIM_SAMPLES;
        if let Some(position) = self.history.position() {
            self.upkeep.samples.push_back((now, position.id));
        }
        let mut before = None;
        while let Some(&(at, id)) = self.upkeep.samples.front()
            && now - at >= trim_ms
        {
            self.upkeep.samples.pop_front();
            before = Some(id);
        }
        // After a loss, samples may be larger than all IDs of the log. The record of the position must remain.
        if let (Some(before), Some(position)) = (before, self.history.position()) {
            let before = before.min(position.id);
            self.send(CommandKind::Other("XTRIM"), ClusterCommand::Trim { before }, now);
        }
    }

    /// Writes the position file when that is due.
    pub(super) fn step_store(&mut self, now: ClockMs) {
        if self.upkeep.store_due_at(&self.settings.timings).is_some_and(|due_at| due_at <= now) {
            self.store(now);
        }
    }

    fn store(&mut self, now: ClockMs) {
        let stored = StoredNode {
            boot: self.boot,
            fresh_at: self.contact.durable_to(),
            applied: self.applied,
            records: self
                .applied
                .map_or_else(Vec::new, |applied| self.history.stored(applied, STORED_RECORDS)),
            generation: self.generation.max(self.stored_generation),
            has_excess: self.outbox.has_excess(),
            pending: self.outbox.stored(),
        };
        let contents = stored.encode(&self.settings.secret, &self.settings.node);
        let number = self.next_batch();
        self.upkeep.has_change = false;
        self.upkeep.store = Some(number);
        self.upkeep.stored_at = now;
        self.actions.push_back(ClusterAction::StorePosition { number, contents });
    }

    /// Handles the result of a write of the position file.
    pub(super) fn end_store(&mut self, number: BatchNumber, is_stored: bool) {
        if self.upkeep.store == Some(number) {
            self.upkeep.store = None;
            if !is_stored {
                self.upkeep.has_change = true;
                self.log(ClusterMessage::PositionNotStored);
            }
        }
    }

    /// Continues the stop of the process.
    pub(super) fn step_shutdown(&mut self, now: ClockMs) {
        let is_connected = self.link != LinkState::Disconnected;
        if let StopState::Sending { is_leaving, until } = self.upkeep.stop {
            let is_sent = !self.outbox.has_unsent();
            if is_connected && !is_sent && now < until {
                return;
            }
            // A node with purges that are not in the log does not leave: it counts as silent for the others.
            let may_leave =
                is_leaving && is_connected && is_sent && now < until && !self.upkeep.is_name_taken();
            let may_leave = may_leave && self.generation > 0;
            if may_leave {
                if self.write_member(MemberState::Left, now) {
                    self.upkeep.stop = StopState::Leaving { until };
                }
                return;
            }
            self.begin_last_store(now);
        }
        if let StopState::Leaving { until } = self.upkeep.stop {
            let is_waiting = self.commands.has(|kind| matches!(kind, CommandKind::Member { .. }));
            if is_connected && is_waiting && now < until {
                return;
            }
            self.begin_last_store(now);
        }
        if let StopState::Storing { until } = self.upkeep.stop
            && (self.upkeep.store.is_none() || now >= until)
        {
            self.upkeep.stop = StopState::Stopped;
            self.actions.push_back(ClusterAction::Stopped);
        }
    }

    fn begin_last_store(&mut self, now: ClockMs) {
        self.upkeep.stop = StopState::Storing { until: now + LAST_STORE_MS };
        if !self.upkeep.is_name_taken() {
            self.store(now);
        }
    }
}
