//! Records that were read and are being applied, in their order, and purges whose save must be repeated.

use std::collections::{HashMap, VecDeque};

use super::{BatchNumber, ClockMs, ClusterAction, ExpiryReason};
use crate::record::{ClusterPurge, LogPosition, NodeName, PurgeId};

/// Delay of the first repetition of a failed save, and the maximum delay, in milliseconds. Each failure doubles it.
const REPEAT_MS: (u64, u64) = (1000, 10_000);
/// Minimum delay of a repetition that makes all pages stale, in milliseconds.
const REPEAT_EVERYTHING_MS: u64 = 30_000;
/// Maximum size of purges that are not saved, in bytes. More are replaced by a purge of everything.
const MAX_UNSAVED_BYTES: usize = 1 << 20;
/// Maximum number of receipts that wait for a save. The position of the member record confirms further purges.
const MAX_RECEIPTS: usize = 4096;

/// Contents of an action that the caller confirms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BatchContents {
    /// Purges that are applied.
    Purges(Vec<ClusterPurge>),
    /// All pages become stale.
    Everything(ExpiryReason),
}

impl BatchContents {
    /// Returns the action with the number `batch`.
    pub(super) fn into_action(self, batch: BatchNumber) -> ClusterAction {
        match self {
            Self::Purges(purges) => ClusterAction::Apply { batch, purges },
            Self::Everything(reason) => ClusterAction::ExpireEverything { batch, reason },
        }
    }
}

/// Record that is being applied.
///
/// ```text
///   in progress (`batch`) ── Applied ─────────────────────────────────────────┬──> applied
///        └── AppliedNotSaved ──> in effect (`is_unsaved`) ── repetition saved ─┘
/// ```
#[derive(Debug)]
pub(super) struct UnappliedRecord {
    /// Position of the node once the record is applied.
    pub(super) position: LogPosition,
    /// Action that is not in effect yet.
    pub(super) batch: Option<BatchNumber>,
    /// Purges of this node that are not yet durable here.
    pub(super) own: Vec<PurgeId>,
    /// Purges to confirm to their nodes.
    pub(super) receipts: Vec<(NodeName, PurgeId)>,
    /// Time up to which the node has all purges once the record is applied.
    pub(super) fresh_at: Option<ClockMs>,
    /// True if purges of the record are in effect, could not be saved, and wait for the next repetition.
    pub(super) is_unsaved: bool,
    /// True if the repetition in progress has the purges of the record that were not saved.
    pub(super) is_in_repetition: bool,
}

impl UnappliedRecord {
    /// Creates the record that moves the position to `position`, once the action `batch` is applied and durable.
    pub(super) fn new(position: LogPosition, batch: Option<BatchNumber>) -> Self {
        Self {
            position,
            batch,
            own: Vec::new(),
            receipts: Vec::new(),
            fresh_at: None,
            is_unsaved: false,
            is_in_repetition: false,
        }
    }

    /// True if all purges of the record are in effect, and at least one is not saved.
    fn waits_for_save(&self) -> bool {
        self.batch.is_none() && (self.is_unsaved || self.is_in_repetition)
    }

    fn is_applied(&self) -> bool {
        self.batch.is_none() && self.own.is_empty() && !self.is_unsaved && !self.is_in_repetition
    }
}

/// Purges that are in effect and could not be saved.
#[derive(Debug, Default)]
struct UnsavedPurges {
    contents: Option<BatchContents>,
    bytes: usize,
    due_at: ClockMs,
    /// Number of repetitions in succession that failed.
    failures: u32,
    /// Repetition in progress.
    repetition: Option<BatchNumber>,
}

impl UnsavedPurges {
    /// Adds purges. A repetition that is planned remains due at its time, unless it makes all pages stale from now on: then
    /// it is due after [`REPEAT_EVERYTHING_MS`].
    fn add(&mut self, added: BatchContents, now: ClockMs) {
        let is_planned = self.contents.is_some();
        let was_everything = matches!(self.contents, Some(BatchContents::Everything(_)));
        self.contents = Some(match (self.contents.take(), added) {
            // All pages become stale at the repetition, which covers every earlier purge.
            (Some(BatchContents::Everything(reason)), _) | (_, BatchContents::Everything(reason)) => {
                BatchContents::Everything(reason)
            }
            (earlier, BatchContents::Purges(added)) => {
                self.bytes += added.iter().map(ClusterPurge::encoded_len).sum::<usize>();
                let mut purges = match earlier {
                    Some(BatchContents::Purges(purges)) => purges,
                    _ => Vec::new(),
                };
                purges.extend(added);
                if self.bytes > MAX_UNSAVED_BYTES {
                    BatchContents::Everything(ExpiryReason::NotSaved)
                } else {
                    BatchContents::Purges(purges)
                }
            }
        });
        let is_everything = matches!(self.contents, Some(BatchContents::Everything(_)));
        if is_everything && !was_everything {
            self.due_at = now + REPEAT_EVERYTHING_MS;
        } else if !is_planned {
            let (first, max) = REPEAT_MS;
            self.due_at = now + (first << self.failures.min(8)).min(max);
        }
    }
}

/// Records in the order of the log; each counts as applied only when all earlier ones are.
#[derive(Debug, Default)]
pub(super) struct ApplyQueue {
    records: VecDeque<UnappliedRecord>,
    /// Contents of the actions in progress.
    running: HashMap<BatchNumber, BatchContents>,
    unsaved: UnsavedPurges,
}

impl ApplyQueue {
    pub(super) fn push(&mut self, record: UnappliedRecord) {
        self.records.push_back(record);
    }

    /// Adds an action in progress.
    pub(super) fn begin(&mut self, batch: BatchNumber, contents: BatchContents) {
        self.running.insert(batch, contents);
    }

    /// Notes that the node has all purges up to `fresh_at` once the queue is empty. Returns false if it is empty.
    pub(super) fn note_fresh(&mut self, fresh_at: ClockMs) -> bool {
        let Some(last) = self.records.back_mut() else { return false };
        last.fresh_at = last.fresh_at.max(Some(fresh_at));
        true
    }

    /// Handles the confirmation of an action, and returns its contents.
    pub(super) fn confirm(&mut self, batch: BatchNumber) -> Option<BatchContents> {
        let is_repetition = self.end_repetition(batch);
        if is_repetition {
            self.unsaved.failures = 0;
        }
        for record in &mut self.records {
            record.is_in_repetition &= !is_repetition;
            record.batch = record.batch.filter(|&number| number != batch);
        }
        self.running.remove(&batch)
    }

    /// Notes that the purges of an action are in effect but could not be saved: they are repeated.
    pub(super) fn note_unsaved(&mut self, batch: BatchNumber, now: ClockMs) {
        let Some(contents) = self.running.remove(&batch) else { return };
        let is_repetition = self.end_repetition(batch);
        if is_repetition {
            self.unsaved.failures += 1;
        }
        self.unsaved.add(contents, now);
        for record in &mut self.records {
            if record.batch == Some(batch) || is_repetition && record.is_in_repetition {
                record.batch = record.batch.filter(|&number| number != batch);
                record.is_in_repetition &= !is_repetition;
                record.is_unsaved = true;
            }
        }
    }

    fn end_repetition(&mut self, batch: BatchNumber) -> bool {
        self.unsaved.repetition.take_if(|repetition| *repetition == batch).is_some()
    }

    /// Notes that an own purge is durable.
    pub(super) fn note_durable(&mut self, purge: PurgeId) {
        for record in &mut self.records {
            record.own.retain(|&own| own != purge);
        }
    }

    /// Notes that an own purge could not be saved. If a record in the queue has it, its save is repeated; otherwise, it
    /// is applied like the purge of another node when its record is read.
    pub(super) fn note_own_unsaved(&mut self, purge: &ClusterPurge, now: ClockMs) {
        let mut is_in_queue = false;
        for record in &mut self.records {
            if record.own.contains(&purge.id) {
                record.own.retain(|&own| own != purge.id);
                record.is_unsaved = true;
                is_in_queue = true;
            }
        }
        if is_in_queue {
            self.unsaved.add(BatchContents::Purges(vec![purge.clone()]), now);
        }
    }

    /// Time at which unsaved purges are repeated.
    pub(super) fn repeat_due_at(&self) -> Option<ClockMs> {
        let is_due = self.unsaved.contents.is_some() && self.unsaved.repetition.is_none();
        is_due.then_some(self.unsaved.due_at)
    }

    /// Begins the repetition of unsaved purges as the action `batch`, and returns its contents.
    pub(super) fn begin_repetition(&mut self, batch: BatchNumber) -> Option<BatchContents> {
        let contents = self.unsaved.contents.take()?;
        self.unsaved.bytes = 0;
        self.unsaved.repetition = Some(batch);
        for record in &mut self.records {
            record.is_in_repetition |= std::mem::take(&mut record.is_unsaved);
        }
        self.begin(batch, contents.clone());
        Some(contents)
    }

    /// Time up to which all purges are in effect in memory, as far as the records in the queue show it.
    pub(super) fn effective_to(&self) -> Option<ClockMs> {
        self.records.iter().take_while(|record| record.batch.is_none()).filter_map(|at| at.fresh_at).max()
    }

    /// True if a repetition is in progress.
    pub(super) fn is_repeating(&self) -> bool {
        self.unsaved.repetition.is_some()
    }

    /// True if all purges of all records are in effect in memory.
    pub(super) fn is_in_effect(&self) -> bool {
        self.records.iter().all(|record| record.batch.is_none())
    }

    /// Removes the oldest record if it is applied. Records that wait for a save are combined, so that they need little
    /// memory while the disk is full.
    pub(super) fn pop_applied(&mut self) -> Option<UnappliedRecord> {
        if self.records.front()?.is_applied() {
            return self.records.pop_front();
        }
        while let [oldest, next, ..] = self.records.make_contiguous()
            && oldest.waits_for_save()
            && oldest.own.is_empty()
            && next.batch.is_none()
            && next.own.is_empty()
        {
            oldest.position = next.position;
            oldest.fresh_at = oldest.fresh_at.max(next.fresh_at);
            oldest.is_unsaved |= next.is_unsaved;
            oldest.is_in_repetition |= next.is_in_repetition;
            let room = MAX_RECEIPTS.saturating_sub(oldest.receipts.len());
            oldest.receipts.extend(next.receipts.drain(..).take(room));
            self.records.remove(1);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{EntryId, RecordTag, StartId};

    fn position(number: u64) -> LogPosition {
        LogPosition { id: EntryId { epoch: 1, number }, tag: RecordTag([number as u8; 32]) }
    }

    fn purge(sequence: u64, bytes: usize) -> ClusterPurge {
        let id = PurgeId { start: StartId([1; 16]), sequence };
        let origin = NodeName::new("web1").expect("valid name");
        ClusterPurge { id, origin, zone: "pages".to_owned(), body: vec![0; bytes].into() }
    }

    fn add(queue: &mut ApplyQueue, number: u64, bytes: usize) {
        let batch = BatchNumber(number);
        queue.begin(batch, BatchContents::Purges(vec![purge(number, bytes)]));
        queue.push(UnappliedRecord::new(position(number), Some(batch)));
    }

    #[test]
    fn unsaved_purges_are_repeated_together_before_the_position_moves() {
        let mut queue = ApplyQueue::default();
        for number in 1..=3 {
            add(&mut queue, number, 10);
        }
        queue.note_unsaved(BatchNumber(1), 100);
        queue.note_unsaved(BatchNumber(2), 300);
        assert!(queue.confirm(BatchNumber(3)).is_some());
        queue.note_fresh(50);
        assert!(queue.pop_applied().is_none() && queue.is_in_effect());
        assert_eq!((queue.repeat_due_at(), queue.effective_to()), (Some(1100), Some(50)));
        let both = BatchContents::Purges(vec![purge(1, 10), purge(2, 10)]);
        assert_eq!(queue.begin_repetition(BatchNumber(4)), Some(both.clone()));
        queue.note_unsaved(BatchNumber(4), 1200);
        assert_eq!(queue.repeat_due_at(), Some(3200));
        assert_eq!(queue.begin_repetition(BatchNumber(5)), Some(both));
        assert!(queue.pop_applied().is_none());
        assert!(queue.confirm(BatchNumber(5)).is_some());
        assert_eq!(queue.pop_applied().map(|record| record.position), Some(position(3)));
        assert_eq!(queue.repeat_due_at(), None);
    }

    #[test]
    fn too_many_unsaved_purges_are_replaced_by_a_purge_of_everything() {
        let mut queue = ApplyQueue::default();
        for number in 1..=5 {
            add(&mut queue, number, MAX_UNSAVED_BYTES / 4);
            queue.note_unsaved(BatchNumber(number), 0);
        }
        let everything = BatchContents::Everything(ExpiryReason::NotSaved);
        assert_eq!(queue.begin_repetition(BatchNumber(6)), Some(everything));
    }

    #[test]
    fn repetition_that_makes_all_pages_stale_is_due_after_its_minimum_delay() {
        let mut queue = ApplyQueue::default();
        add(&mut queue, 1, 10);
        queue.note_unsaved(BatchNumber(1), 0);
        assert_eq!(queue.repeat_due_at(), Some(REPEAT_MS.0));
        let everything = BatchContents::Everything(ExpiryReason::Requested);
        queue.begin(BatchNumber(2), everything.clone());
        queue.push(UnappliedRecord::new(position(2), Some(BatchNumber(2))));
        queue.note_unsaved(BatchNumber(2), 100);
        assert_eq!(queue.repeat_due_at(), Some(100 + REPEAT_EVERYTHING_MS), "a planned repetition of purges");
        add(&mut queue, 3, 10);
        queue.note_unsaved(BatchNumber(3), 200);
        assert_eq!(queue.repeat_due_at(), Some(100 + REPEAT_EVERYTHING_MS), "later purges change nothing");
        assert_eq!(queue.begin_repetition(BatchNumber(4)), Some(everything.clone()));
        add(&mut queue, 5, 10);
        queue.note_unsaved(BatchNumber(5), 40_000);
        queue.note_unsaved(BatchNumber(4), 40_100);
        assert_eq!(queue.repeat_due_at(), Some(40_100 + REPEAT_EVERYTHING_MS), "a failed repetition");
        assert_eq!(queue.begin_repetition(BatchNumber(6)), Some(everything));
        queue.confirm(BatchNumber(6));
        assert_eq!(queue.pop_applied().map(|record| record.position), Some(position(1)));
    }

    #[test]
    fn own_purge_whose_save_fails_blocks_its_record_until_a_repetition_succeeds() {
        let mut queue = ApplyQueue::default();
        let own = vec![purge(1, 10).id];
        queue.push(UnappliedRecord { own, ..UnappliedRecord::new(position(1), None) });
        queue.note_own_unsaved(&purge(1, 10), 0);
        assert!(queue.pop_applied().is_none());
        assert_eq!(queue.begin_repetition(BatchNumber(1)), Some(BatchContents::Purges(vec![purge(1, 10)])));
        queue.confirm(BatchNumber(1));
        assert!(queue.pop_applied().is_some());
    }
}
