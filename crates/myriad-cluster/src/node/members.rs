//! Other members of the cluster, and the time up to which each has put its purges into the log.

use std::collections::BTreeMap;

use super::{ClockMs, MemberPresence, MemberStatus};
use crate::record::{MemberRecord, MemberState, NodeName};

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
    /// True once the member was silent for too long and does not count any more.
    is_removed: bool,
}

impl OtherMember {
    fn counts(&self) -> bool {
        !self.is_removed && self.record.state == MemberState::Active
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
            };
            self.members.insert(node.clone(), member);
            return;
        };
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

    /// Removes members that have been silent for `remove_ms`, and returns their names.
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
        self.members.retain(|_, member| !(member.is_removed && is_old(member)));
        removed
    }

    /// Removes a member; returns false if it is not a member.
    pub(super) fn forget(&mut self, node: &NodeName, now: ClockMs) -> bool {
        match self.members.get_mut(node) {
            Some(member) if !member.is_removed => {
                member.is_removed = true;
                member.changed_at = now;
                true
            }
            _ => false,
        }
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
                    MemberState::Left => MemberPresence::Left,
                    MemberState::Active if self.is_silent(node, silent_ms, now) => MemberPresence::Silent,
                    MemberState::Active => MemberPresence::Active,
                },
                applied: member.record.applied.map(|applied| applied.id),
                seen_ms_ago: now.saturating_sub(member.changed_at),
            })
            .collect()
    }
}
