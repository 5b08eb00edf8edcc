//! Decision whether a node may use a page that another node has fetched.
//!
//! A page may be used if this node has executed every purge since the start of the page's fetch, and none of them covers
//! the page. The node that fetches a page stores its position in the log of purges with it ([`PageRule::position`]).
//! The node that reads it knows which of its purges came after that position:
//!
//! ```text
//!   position in the log     1-40      1-41      1-42
//!   purges executed here    ... 7     8         9  10 (requested here, not yet in the log)
//!   ordinal of a position   7         8         -      only recorded while no purge is missing in the log
//! ```
//!
//! A page with the position 1-41 may be used unless purge 9 or 10 covers it. A page with the position 1-42 is refused: the
//! node that fetched it may not have known purge 10.

use std::collections::{HashMap, VecDeque};

use crate::node::{ClockMs, PageRule};
use crate::record::{LogPosition, RecordTag};

/// Maximum number of positions whose ordinals are stored. Pages with an older position are refused.
const MAX_POSITIONS: usize = 4096;
/// Maximum number of labels with their last purge. If there are more, all count as purged now.
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
    /// Ordinal of the last purge that was in effect when the node was at a position.
    positions: HashMap<RecordTag, u64>,
    order: VecDeque<RecordTag>,
    rule: PageRule,
    /// Number of purges requested here that the node has not received.
    unreceived: u64,
    /// Position whose ordinal is not recorded, because purges may have been executed at it without being noted.
    excluded: Option<RecordTag>,
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

    /// Notes that purges may have been executed here without being noted, because the zone did not belong to the cluster.
    pub fn note_gap(&mut self) {
        self.note_purge(None);
        self.positions.clear();
        self.order.clear();
        self.excluded = self.rule.position.map(|position| position.tag);
    }

    /// Changes the rule.
    pub fn set_rule(&mut self, rule: PageRule) {
        self.rule = rule;
        let Some(position) = rule.position.filter(|_| rule.is_complete && self.unreceived == 0) else {
            return;
        };
        // The node may return to a position. Purges since the first time may be missing in the log.
        if self.excluded == Some(position.tag) || self.positions.contains_key(&position.tag) {
            return;
        }
        self.positions.insert(position.tag, self.ordinal);
        self.order.push_back(position.tag);
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
        let Some(&ordinal) = self.positions.get(&fetched_at.tag) else { return false };
        let is_later = |label: &u64| self.labels.get(label).is_some_and(|&purged| purged > ordinal);
        self.position(now).is_some() && self.of_all <= ordinal && !labels.iter().any(is_later)
    }
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
        PageRule { position: Some(position(number)), usable_until: NOW, is_complete: true }
    }

    #[test]
    fn page_is_admitted_unless_a_purge_since_its_fetch_covers_it() {
        let mut gate = PageGate::default();
        gate.note_purge(Some(&[1]));
        gate.set_rule(complete(1));
        assert!(gate.admits(position(1), &[1, 2], NOW) && !gate.admits(position(2), &[3], NOW));
        gate.note_purge(Some(&[2]));
        gate.set_rule(complete(2));
        assert!(!gate.admits(position(1), &[1, 2], NOW) && gate.admits(position(1), &[1], NOW));
        assert!(gate.admits(position(2), &[1, 2], NOW));
        gate.note_purge(None);
        assert!(!gate.admits(position(2), &[], NOW));
    }

    #[test]
    fn own_purge_that_is_not_in_the_log_is_after_every_position() {
        let mut gate = PageGate::default();
        gate.begin_own_purge(Some(&[1]));
        gate.set_rule(complete(1));
        assert!(!gate.admits(position(1), &[2], NOW), "the node had not received the purge");
        gate.end_own_purge();
        gate.set_rule(PageRule { is_complete: false, ..complete(1) });
        assert!(!gate.admits(position(1), &[2], NOW), "the log did not have the purge");
        gate.set_rule(complete(2));
        assert!(gate.admits(position(2), &[1], NOW) && !gate.admits(position(1), &[2], NOW));
    }

    #[test]
    fn purges_before_a_return_to_a_position_still_count() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1));
        gate.note_purge(Some(&[1]));
        gate.set_rule(complete(2));
        gate.set_rule(complete(1));
        assert!(!gate.admits(position(1), &[1], NOW));
    }

    #[test]
    fn position_at_which_a_zone_joined_is_not_recorded() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1));
        gate.note_gap();
        gate.set_rule(complete(1));
        assert!(!gate.admits(position(1), &[], NOW));
        gate.set_rule(complete(2));
        assert!(gate.admits(position(2), &[], NOW));
    }

    #[test]
    fn nothing_is_admitted_without_a_position_or_after_its_time() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1));
        assert!(gate.admits(position(1), &[], NOW) && gate.position(NOW).is_some());
        assert!(!gate.admits(position(1), &[], NOW + 1) && gate.position(NOW + 1).is_none());
        gate.set_rule(PageRule::default());
        assert!(!gate.admits(position(1), &[], NOW) && gate.position(NOW).is_none());
    }

    #[test]
    fn memory_is_bounded_and_forgotten_purges_cover_everything() {
        let mut gate = PageGate::default();
        gate.set_rule(complete(1));
        for label in 0..=MAX_LABELS as u64 {
            gate.note_purge(Some(&[label]));
        }
        assert!(gate.labels.len() <= MAX_LABELS && !gate.admits(position(1), &[u64::MAX], NOW));
        for number in 0..2 * MAX_POSITIONS {
            let mut tag = [0; 32];
            tag[..8].copy_from_slice(&(number as u64).to_le_bytes());
            let position = LogPosition { tag: RecordTag(tag), ..position(2) };
            gate.set_rule(PageRule { position: Some(position), ..complete(0) });
        }
        assert_eq!((gate.positions.len(), gate.order.len()), (MAX_POSITIONS, MAX_POSITIONS));
    }
}
