//! Decision whether a node may use a page that another node has fetched.
//!
//! A page may be used if this node has reached the position in the log of purges at which the page's fetch began, and none
//! of the purges that it has executed since covers the page. Purges that this node has not received yet are not known;
//! [`PageRule::usable_until`] limits this time. The node that fetches a page stores its position in the log of purges with it ([`PageRule::position`]).
//! The node that reads it knows which of its purges came after that position:
//!
//! ```text
//!   record of the log       1-40    1-41    1-42    1-43
//!   purges executed here    … 7     8       9  10   11       10 was requested here, and is in the record 1-43
//!   ordinal of the record   7       8       8       11
//! ```
//!
//! The ordinal of a record is that of the last purge executed here which is certainly part of the log up to that record. At
//! 1-42, the log lacked purge 10, so the ordinal of the record before applies. A page that was fetched at 1-42 may be used
//! unless purge 9, 10 or 11 covers it.

use std::collections::{HashMap, VecDeque};

use crate::node::{ClockMs, PageRule};
use crate::record::{LogPosition, RecordTag};

/// Maximum number of records whose ordinals are stored. Pages with an older position are refused.
const MAX_POSITIONS: usize = 4096;
/// Maximum number of labels with their last purge. If a purge would exceed it, the labels are forgotten, and the purge counts
/// as one that covers every page.
const MAX_LABELS: usize = 65_536;

/// Purges that this node has executed, in their order, as far as pages of other nodes may be older than them.
///
/// Labels are hashes of whatever purges name: URLs, tags, cache keys.
#[derive(Debug, Default)]
pub struct PageGate {
    /// Number of purges executed so far.
    ordinal: u64,
    /// Ordinal of the last purge of each label.
    labels: HashMap<u64, u64>,
    /// Ordinal of the last purge that may cover any page.
    of_all: u64,
    positions: HashMap<RecordTag, KnownPosition>,
    order: VecDeque<RecordTag>,
    /// Ordinal of the last record at which the log had every purge of this node; `None` if the log has lost records since.
    base: Option<u64>,
    rule: PageRule,
    /// Number of purges requested on this node that its state machine ([`crate::node::ClusterNode`]) has not received.
    unreceived: u64,
}

impl PageGate {
    /// Begins a purge that was requested on this node. To be called before the purge is in effect, and followed by
    /// [`Self::end_own_purge`] when the node has received it. `labels` is `None` if the purge may cover any page.
    pub fn begin_own_purge(&mut self, labels: Option<&[u64]>) {
        self.note_purge(labels);
        self.unreceived += 1;
    }

    /// Notes that the node has received a purge that was requested here, or that it never will.
    pub fn end_own_purge(&mut self) {
        self.unreceived = self.unreceived.saturating_sub(1);
    }

    /// Notes a purge of another node. To be called before it is in effect. `labels` is `None` if it may cover any page.
    pub fn note_purge(&mut self, labels: Option<&[u64]>) {
        self.ordinal += 1;
        match labels {
            Some(labels) if self.labels.len() + labels.len() <= MAX_LABELS => {
                self.labels.extend(labels.iter().map(|&label| (label, self.ordinal)));
            }
            _ => {
                self.labels.clear();
                self.of_all = self.ordinal;
            }
        }
    }

    /// Notes that purges may have been executed on this node without being noted, because the zone did not belong to the
    /// cluster. To be followed by [`Self::end_own_purge`] when the node has received [`crate::node::ClusterEvent::Gap`].
    pub fn begin_gap(&mut self) {
        self.begin_own_purge(None);
        self.forget_positions();
    }

    /// Forgets all positions: no page is admitted until the node has reached another complete position.
    pub fn forget_positions(&mut self) {
        self.positions.clear();
        self.order.clear();
        self.base = None;
        self.rule = PageRule::default();
    }

    /// Changes the rule. `passed` are the records up to the position since the last call.
    pub fn set_rule(&mut self, rule: PageRule, passed: &[RecordTag]) {
        self.rule = rule;
        if !rule.is_continuous {
            self.base = None;
        }
        if let Some(ordinal) = self.base.filter(|_| rule.is_continuous) {
            for tag in passed {
                self.record(*tag, KnownPosition { ordinal, is_exact: false });
            }
        }
        if let Some(position) = rule.position.filter(|_| rule.is_complete && self.unreceived == 0) {
            self.base = Some(self.ordinal);
            self.record(position.tag, KnownPosition { ordinal: self.ordinal, is_exact: true });
        }
    }

    /// Records a position, unless it is known: the node may return to a position, and purges since the first time may be
    /// missing in the log.
    fn record(&mut self, tag: RecordTag, known: KnownPosition) {
        match self.positions.get_mut(&tag) {
            Some(earlier) if earlier.is_exact || !known.is_exact => return,
            Some(earlier) => *earlier = known,
            None => {
                self.positions.insert(tag, known);
                self.order.push_back(tag);
            }
        }
        if self.order.len() > MAX_POSITIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.positions.remove(&oldest);
        }
    }

    /// Returns the position to store with a page whose fetch begins at the time `now`; `None` if the page must not be stored
    /// for other nodes.
    pub fn position(&self, now: ClockMs) -> Option<LogPosition> {
        self.rule.position.filter(|_| now <= self.rule.usable_until)
    }

    /// Returns true if this node may use a page at the time `now` that was fetched at this position of the log and has
    /// these labels.
    pub fn admits(&self, fetched_at: LogPosition, labels: &[u64], now: ClockMs) -> bool {
        let Some(&KnownPosition { ordinal, .. }) = self.positions.get(&fetched_at.tag) else { return false };
        let is_later = |label: &u64| self.labels.get(label).is_some_and(|&purged| purged > ordinal);
        self.position(now).is_some() && self.of_all <= ordinal && !labels.iter().any(is_later)
    }

    /// Returns true if a page is admitted that was fetched now and has these labels, if no partition is detected.
    #[cfg(test)]
    pub(crate) fn admits_newest(&self, labels: &[u64]) -> bool {
        self.rule.position.is_some_and(|position| self.admits(position, labels, self.rule.usable_until))
    }
}

/// Position of which the gate knows the purges.
#[derive(Clone, Copy, Debug)]
struct KnownPosition {
    /// Ordinal of the last purge that is certainly part of the log up to the position.
    ordinal: u64,
    /// True if the log had every purge of this node when the node was at the position.
    is_exact: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::EntryId;

    const NOW: ClockMs = 1000;

    fn position(number: u64) -> LogPosition {
        LogPosition { id: EntryId { epoch: 1, number }, tag: RecordTag([number as u8; 32]) }
    }

    fn complete(number: u64) -> PageRule {
        PageRule {
            position: Some(position(number)),
            usable_until: NOW,
            is_complete: true,
            is_continuous: true,
        }
    }

    #[test]
    fn page_is_admitted_unless_a_purge_since_its_fetch_covers_it() {
        let mut gate = PageGate::default();
        gate.note_purge(Some(&[1]));
        gate.set_rule(complete(1), &[]);
        assert!(gate.admits(position(1), &[1, 2], NOW) && !gate.admits(position(2), &[3], NOW));
        gate.note_purge(Some(&[2]));
        gate.set_rule(complete(2), &[]);
        assert!(!gate.admits(position(1), &[1, 2], NOW) && gate.admits(position(1), &[1], NOW));
        assert!(gate.admits(position(2), &[1, 2], NOW));
        gate.note_purge(None);
        assert!(!gate.admits(position(2), &[], NOW));
    }

    #[test]
    fn own_purge_that_is_not_in_the_log_is_after_every_position() {
        let mut gate = PageGate::default();
        gate.begin_own_purge(Some(&[1]));
        gate.set_rule(complete(1), &[]);
        assert!(!gate.admits(position(1), &[2], NOW), "the node had not received the purge");
        gate.end_own_purge();
        gate.set_rule(PageRule { is_complete: false, ..complete(1) }, &[]);
        assert!(!gate.admits(position(1), &[2], NOW), "the log did not have the purge");
        gate.set_rule(complete(2), &[]);
        assert!(gate.admits(position(2), &[1], NOW) && !gate.admits(position(1), &[2], NOW));
    }

    #[test]
    fn record_at_which_purges_were_missing_in_the_log_has_the_number_of_an_earlier_one() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1), &[]);
        gate.begin_own_purge(Some(&[1]));
        gate.end_own_purge();
        let incomplete = PageRule { is_complete: false, ..complete(2) };
        gate.set_rule(incomplete, &[position(2).tag]);
        assert!(gate.admits(position(2), &[2], NOW) && !gate.admits(position(2), &[1], NOW));
        gate.note_purge(Some(&[3]));
        gate.set_rule(complete(4), &[position(3).tag, position(4).tag]);
        assert!(!gate.admits(position(3), &[3], NOW) && gate.admits(position(4), &[1, 3], NOW));
    }

    #[test]
    fn records_after_a_loss_are_unknown_until_the_log_has_every_purge_again() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1), &[]);
        let lost = PageRule { is_complete: false, is_continuous: false, ..complete(1) };
        gate.set_rule(lost, &[]);
        gate.set_rule(PageRule { is_complete: false, ..complete(2) }, &[position(2).tag]);
        assert!(!gate.admits(position(2), &[], NOW));
        gate.set_rule(complete(3), &[position(3).tag]);
        assert!(gate.admits(position(3), &[], NOW));
    }

    #[test]
    fn purges_before_a_return_to_a_position_still_count() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1), &[]);
        gate.note_purge(Some(&[1]));
        gate.set_rule(complete(2), &[]);
        gate.set_rule(complete(1), &[]);
        assert!(!gate.admits(position(1), &[1], NOW));
    }

    #[test]
    fn position_at_which_a_zone_joined_is_unknown_until_the_node_knows_of_the_gap() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1), &[]);
        gate.begin_gap();
        gate.set_rule(complete(1), &[]);
        assert!(!gate.admits(position(1), &[], NOW));
        gate.set_rule(PageRule { is_complete: false, is_continuous: false, ..complete(1) }, &[]);
        gate.end_own_purge();
        assert!(!gate.admits(position(1), &[], NOW));
        gate.set_rule(complete(2), &[position(2).tag]);
        assert!(gate.admits(position(2), &[], NOW) && !gate.admits(position(1), &[], NOW));
    }

    #[test]
    fn nothing_is_admitted_without_a_position_or_after_its_time() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1), &[]);
        assert!(gate.admits(position(1), &[], NOW) && gate.position(NOW).is_some());
        assert!(!gate.admits(position(1), &[], NOW + 1) && gate.position(NOW + 1).is_none());
        gate.set_rule(PageRule::default(), &[]);
        assert!(!gate.admits(position(1), &[], NOW) && gate.position(NOW).is_none());
    }

    #[test]
    fn memory_is_bounded_and_forgotten_purges_cover_everything() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1), &[]);
        for label in 0..=MAX_LABELS as u64 {
            gate.note_purge(Some(&[label]));
        }
        assert!(gate.labels.len() <= MAX_LABELS && !gate.admits(position(1), &[u64::MAX], NOW));
        for number in 0..2 * MAX_POSITIONS {
            let mut tag = [0; 32];
            tag[..8].copy_from_slice(&(number as u64).to_le_bytes());
            let position = LogPosition { tag: RecordTag(tag), ..position(2) };
            gate.set_rule(PageRule { position: Some(position), ..complete(0) }, &[]);
        }
        assert_eq!((gate.positions.len(), gate.order.len()), (MAX_POSITIONS, MAX_POSITIONS));
    }
}
