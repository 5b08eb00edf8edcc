//! Other members of the cluster, and the time up to which each has put its purges into the log.

use std::collections::BTreeMap;

use super::{ClockMs, LateMember, LateReason, MemberPresence, MemberStatus};
use crate::record::{MemberRecord, MemberState, NodeName, StartId};

/// Another member.
///
/// A member's record confirms that every purge that was requested before this record was made, except during the last
/// `unsent_for_ms`, is in the log. The time at which a record was made is on another machine's clock, so a lower bound on this node's
/// clock is used: a record was made after the member's newest confirmed record was executed by Valkey, and that was after
/// this node sent the last request whose reply did not have it.
#[derive(Debug)]
struct OtherMember {
    record: MemberRecord,
    /// Time at which the record was first seen.
    changed_at: ClockMs,
    /// Time at which the last request was sent whose reply had this record.
    shown_at: ClockMs,
    /// Lower bound for the time at which Valkey executed the write of this record; `None` if unknown.
    executed_after: Option<ClockMs>,
    /// Time before which every purge requested on the member is in the log; `None` if unknown.
    complete_to: Option<ClockMs>,
    /// True once the member was silent for too long, or an administrator has removed it, and it does not count any more.
    is_removed: bool,
    /// Removal by an administrator; `None` once the member has joined again.
    removal: Option<MemberRemoval>,
    /// Process lifetime and counter of the record of a smaller generation that the last reply had.
    outdated: Option<(StartId, u64)>,
}

/// Removal of a member by an administrator.
#[derive(Debug)]
struct MemberRemoval {
    record: MemberRecord,
    /// True if the list of members must have the record at the next opportunity.
    must_write: bool,
}

impl OtherMember {
    fn counts(&self) -> bool {
        !self.is_removed && self.record.state == MemberState::Active
    }

    /// Returns the reason why purges of the member may be missing in the log. This node reads the members every
    /// `interval_ms`, and each has reported since then.
    fn late_reason(&self, interval_ms: u64) -> LateReason {
        // Replies to two requests in succession have had the same record. The time since the last change is no evidence: this
        // node may have been suspended, or without a connection.
        if 2 * self.shown_at.saturating_sub(self.changed_at) > 3 * interval_ms {
            LateReason::Silent
        } else if matches!(self.record.unsent_for_ms, 0 | u32::MAX) {
            LateReason::Unconfirmed
        } else {
            LateReason::Unsent
        }
    }

    /// Returns true for a record of an earlier lifetime, which a restored backup of Valkey has put in the place of the
    /// newer one. A record of a smaller generation that the node renews belongs to a lifetime that could not know the
    /// larger one, because the list of members and the node's position file were lost.
    fn is_outdated(&mut self, record: &MemberRecord) -> bool {
        if record.generation >= self.record.generation {
            self.outdated = None;
            return false;
        }
        let seen = (record.start, record.counter);
        let previous = self.outdated.replace(seen);
        let is_renewed =
            previous.is_some_and(|(start, counter)| start == record.start && counter < record.counter);
        if is_renewed {
            self.outdated = None;
        }
        !is_renewed
    }
}

/// Table of other members.
#[derive(Debug, Default)]
pub(super) struct MemberTable {
    members: BTreeMap<NodeName, OtherMember>,
    /// Time at which the last request was sent that had a reply.
    read_at: Option<ClockMs>,
}

impl MemberTable {
    /// Returns true if the list of members was read since the start.
    pub(super) fn is_known(&self) -> bool {
        self.read_at.is_some()
    }

    /// Handles the record of one member in the reply to a request that was sent at `sent_at`.
    pub(super) fn observe(&mut self, node: &NodeName, record: MemberRecord, sent_at: ClockMs, now: ClockMs) {
        if record.state == MemberState::Removed {
            return self.observe_removal(node, record, sent_at, now);
        }
        let previous_read = self.read_at;
        let Some(member) = self.members.get_mut(node) else {
            // A record that the previous reply did not have: all purges of this member are newer than that request.
            let member = OtherMember {
                complete_to: previous_read,
                executed_after: previous_read,
                record,
                changed_at: now,
                shown_at: sent_at,
                is_removed: false,
                removal: None,
                outdated: None,
            };
            self.members.insert(node.clone(), member);
            return;
        };
        if let Some(removal) = &mut member.removal {
            if record.is_ended_by(&removal.record) {
                removal.must_write = true; // a delayed write has replaced the removal
                return;
            }
            member.removal = None;
        }
        if member.is_outdated(&record) {
            return;
        }
        let is_same_lifetime = member.record.start == record.start;
        if is_same_lifetime && record.counter < member.record.counter {
            return; // a delayed write replaced a newer record for a moment
        }
        if is_same_lifetime && record.counter == member.record.counter {
            member.shown_at = sent_at;
            return;
        }
        if member.counts() {
            let was_made_after = member.executed_after.filter(|_| record.confirmed >= member.record.counter);
            if is_same_lifetime
                && record.unsent_for_ms != u32::MAX
                && let Some(made_after) = was_made_after
            {
                let complete_to = made_after.saturating_sub(record.unsent_for_ms.into());
                member.complete_to = member.complete_to.max(Some(complete_to));
            }
        } else {
            // Until the last request that showed the old record, the member took no part.
            member.complete_to = Some(member.shown_at);
        }
        member.executed_after = Some(member.shown_at);
        member.record = record;
        member.changed_at = now;
        member.shown_at = sent_at;
        member.is_removed = false;
    }

    /// Handles the record of a removal in the reply to a request that was sent at `sent_at`.
    fn observe_removal(&mut self, node: &NodeName, record: MemberRecord, sent_at: ClockMs, now: ClockMs) {
        let removal = MemberRemoval { record: record.clone(), must_write: false };
        let Some(member) = self.members.get_mut(node) else {
            let member = OtherMember {
                record,
                changed_at: now,
                shown_at: sent_at,
                executed_after: None,
                complete_to: None,
                is_removed: true,
                removal: Some(removal),
                outdated: None,
            };
            self.members.insert(node.clone(), member);
            return;
        };
        member.shown_at = sent_at;
        if member.record.is_ended_by(&record) {
            if !member.is_removed {
                member.changed_at = now;
            }
            member.is_removed = true;
            member.removal = Some(removal);
        }
    }

    /// Completes the handling of a reply to a request that was sent at `sent_at`.
    pub(super) fn end_reply(&mut self, sent_at: ClockMs) {
        self.read_at = Some(sent_at);
    }

    /// Returns the time before which every purge of every member is in the log, given a reply to a request sent at
    /// `sent_at`; `None` if unknown.
    pub(super) fn complete_to(&self, sent_at: ClockMs) -> Option<ClockMs> {
        self.members
            .values()
            .filter(|member| member.counts())
            .map(|member| member.complete_to)
            .try_fold(sent_at, |least, time| Some(least.min(time?)))
    }

    /// Returns the members that may have purges from more than `detection_ms` ago which the log does not have. This node
    /// reads the members every `interval_ms`.
    pub(super) fn late(&self, detection_ms: u64, interval_ms: u64, now: ClockMs) -> Vec<LateMember> {
        let is_old = |time: ClockMs| now.saturating_sub(time) > detection_ms;
        let is_late = |member: &OtherMember| member.counts() && member.complete_to.is_none_or(is_old);
        let late = self.members.iter().filter(|(_, member)| is_late(member));
        late.map(|(node, member)| LateMember {
            node: node.clone(),
            address: member.record.address.clone(),
            seen_ms_ago: now.saturating_sub(member.changed_at),
            reason: member.late_reason(interval_ms),
        })
        .collect()
    }

    /// Marks members as removed whose records have not changed for `remove_ms`, and returns their names. They stay in
    /// the table until [`Self::delete_removed`].
    pub(super) fn remove_silent(&mut self, remove_ms: u64, now: ClockMs) -> Vec<NodeName> {
        let is_old = |member: &OtherMember| now.saturating_sub(member.changed_at) >= remove_ms;
        let mut removed = Vec::new();
        for (node, member) in &mut self.members {
            if !member.is_removed && is_old(member) {
                member.is_removed = true;
                member.changed_at = now;
                removed.push(node.clone());
            }
        }
        removed
    }

    /// Deletes members that were removed at least `remove_ms` ago from the table, and returns the names of those that an
    /// administrator removed: their records are in the list of members.
    pub(super) fn delete_removed(&mut self, remove_ms: u64, now: ClockMs) -> Vec<NodeName> {
        let is_old = |member: &mut OtherMember| {
            member.is_removed && now.saturating_sub(member.changed_at) >= remove_ms
        };
        let deleted = self.members.extract_if(.., |_, member| is_old(member));
        deleted.filter(|(_, member)| member.removal.is_some()).map(|(node, _)| node).collect()
    }

    /// Removes a member on behalf of an administrator, if it is a member.
    pub(super) fn forget(&mut self, node: &NodeName, now: ClockMs) {
        if let Some(member) = self.members.get_mut(node).filter(|member| !member.is_removed) {
            member.is_removed = true;
            member.changed_at = now;
            member.removal = Some(MemberRemoval { record: member.record.removal(), must_write: true });
        }
    }

    /// Returns the records of removals that the list of members did not have when it was read last.
    pub(super) fn unwritten_removals(&self) -> Vec<(NodeName, MemberRecord)> {
        let removals = self.members.iter().filter_map(|(node, member)| {
            let removal = member.removal.as_ref().filter(|removal| removal.must_write)?;
            Some((node.clone(), removal.record.clone()))
        });
        removals.collect()
    }

    /// Returns true if the table has this member, also if it was stopped.
    #[cfg(test)]
    pub(super) fn has(&self, node: &NodeName) -> bool {
        self.members.get(node).is_some_and(|member| !member.is_removed)
    }

    /// Yields the members whose receipts are expected, with their records.
    pub(super) fn expected(&self) -> impl Iterator<Item = (&NodeName, &MemberRecord)> {
        self.members.iter().filter(|(_, member)| member.counts()).map(|(node, member)| (node, &member.record))
    }

    /// Returns true if the member has not renewed its record for `silent_ms`.
    pub(super) fn is_silent(&self, node: &NodeName, silent_ms: u64, now: ClockMs) -> bool {
        self.members.get(node).is_some_and(|member| now.saturating_sub(member.changed_at) >= silent_ms)
    }

    /// Returns the status of all members that were not removed.
    pub(super) fn status(&self, silent_ms: u64, now: ClockMs) -> Vec<MemberStatus> {
        self.members
            .iter()
            .filter(|(_, member)| !member.is_removed)
            .map(|(node, member)| MemberStatus {
                node: node.clone(),
                address: member.record.address.clone(),
                software: member.record.software.clone(),
                presence: match member.record.state {
                    MemberState::Left | MemberState::Removed => MemberPresence::Left,
                    MemberState::Active if self.is_silent(node, silent_ms, now) => MemberPresence::Silent,
                    MemberState::Active => MemberPresence::Active,
                },
                applied: member.record.applied.map(|applied| applied.id),
                seen_ms_ago: now.saturating_sub(member.changed_at),
            })
            .collect()
    }
}
