//! Records that a node has read: its position in the log, the way back to older records, and recent purges in full.

use std::collections::{HashMap, HashSet, VecDeque};

use super::ClockMs;
use crate::record::{ClusterPurge, EntryId, LogPosition, PurgeId, RecordTag, StoredRecord};

/// Maximum number of stored purge IDs, by which the node detects repeated purges. A purge that is repeated after its ID
/// was removed is applied twice, which only removes more pages than necessary.
const KNOWN_PURGES: usize = 65_536;

#[derive(Debug)]
struct HistoryRecord {
    position: LogPosition,
    predecessor: LogPosition,
    has_purges: bool,
}

#[derive(Debug)]
struct RetainedRecord {
    tag: RecordTag,
    since: ClockMs,
    bytes: usize,
}

/// Records that this node has applied, or is applying, and that the log has lost.
#[derive(Debug, Default)]
pub(super) struct LostRecords {
    /// Tags of the records.
    pub(super) tags: HashSet<RecordTag>,
    /// Their purges, oldest first.
    pub(super) purges: Vec<ClusterPurge>,
    /// True if purges of a lost record are no longer in memory.
    pub(super) is_incomplete: bool,
}

/// Records that a node has read. All of them were applied or are being applied, in the current log or in one that
/// Valkey has lost since; therefore no purge of a record in the history, or of its predecessors, is missing here.
#[derive(Debug)]
pub(super) struct LogHistory {
    position: Option<LogPosition>,
    records: HashMap<RecordTag, HistoryRecord>,
    order: VecDeque<RecordTag>,
    max_records: usize,
    retained: HashMap<RecordTag, Vec<ClusterPurge>>,
    retained_order: VecDeque<RetainedRecord>,
    retained_bytes: usize,
    known: HashSet<PurgeId>,
    known_order: VecDeque<PurgeId>,
}

impl LogHistory {
    pub(super) fn new(max_records: usize) -> Self {
        Self {
            position: None,
            records: HashMap::new(),
            order: VecDeque::new(),
            max_records,
            retained: HashMap::new(),
            retained_order: VecDeque::new(),
            retained_bytes: 0,
            known: HashSet::new(),
            known_order: VecDeque::new(),
        }
    }

    /// Restores the part of a history that was stored.
    pub(super) fn restore(&mut self, applied: LogPosition, records: &[StoredRecord]) {
        for record in records {
            // Their purges are not in memory. If the log loses them, the nodes that requested or read them append them again.
            self.insert(record.position, record.predecessor, false);
        }
        if !self.records.contains_key(&applied.tag) {
            self.insert(applied, LogPosition::START, false);
        }
        self.position = Some(applied);
    }

    /// Position up to which the log was read.
    pub(super) fn position(&self) -> Option<LogPosition> {
        self.position
    }

    /// Position of the record with this tag, if it is in the history.
    pub(super) fn find(&self, tag: RecordTag) -> Option<LogPosition> {
        self.records.get(&tag).map(|record| record.position)
    }

    /// Smallest ID in the history.
    pub(super) fn oldest(&self) -> EntryId {
        self.records.values().map(|record| record.position.id).min().unwrap_or(EntryId::ZERO)
    }

    /// Yields `from` and its predecessors, as far as the history has them.
    pub(super) fn ancestors(&self, from: LogPosition) -> impl Iterator<Item = LogPosition> {
        let start = self.records.get(&from.tag);
        std::iter::successors(start, |record| self.records.get(&record.predecessor.tag))
            .map(|record| record.position)
    }

    /// Returns true if the record is the position or one of its predecessors.
    pub(super) fn is_before_position(&self, record: LogPosition) -> bool {
        self.position.is_some_and(|position| {
            self.ancestors(position).take_while(|at| at.id >= record.id).any(|at| at.tag == record.tag)
        })
    }

    /// Adds the record that follows the position, and moves the position to it.
    pub(super) fn advance(
        &mut self,
        position: LogPosition,
        predecessor: LogPosition,
        purges: &[ClusterPurge],
        now: ClockMs,
    ) {
        self.insert(position, predecessor, !purges.is_empty());
        self.position = Some(position);
        if !purges.is_empty() && !self.retained.contains_key(&position.tag) {
            let bytes = purges.iter().map(ClusterPurge::encoded_len).sum();
            self.retained_bytes += bytes;
            self.retained_order.push_back(RetainedRecord { tag: position.tag, since: now, bytes });
            self.retained.insert(position.tag, purges.to_vec());
        }
    }

    /// Moves the position to a record after which the log continues differently, and returns the lost records: those
    /// before the old position that are not before the new one.
    pub(super) fn rewind(&mut self, to: LogPosition) -> LostRecords {
        let mut lost = LostRecords::default();
        let Some(from) = self.position.replace(to) else { return lost };
        let kept: HashSet<RecordTag> = self.ancestors(to).map(|at| at.tag).collect();
        let mut found = Vec::new();
        for at in self.ancestors(from) {
            if kept.contains(&at.tag) {
                break;
            }
            found.push(at.tag);
        }
        for tag in found.into_iter().rev() {
            match self.retained.get(&tag) {
                Some(purges) => lost.purges.extend_from_slice(purges),
                None => lost.is_incomplete |= self.records[&tag].has_purges,
            }
            lost.tags.insert(tag);
        }
        lost
    }

    /// Moves the position to a record without a known connection to it, and returns all purges in memory: the log may
    /// have lost each of them.
    pub(super) fn jump(&mut self, to: LogPosition, predecessor: LogPosition) -> Vec<ClusterPurge> {
        self.insert(to, predecessor, false);
        self.position = Some(to);
        let retained = &self.retained;
        self.retained_order.iter().filter_map(|entry| retained.get(&entry.tag)).flatten().cloned().collect()
    }

    /// Adds the ID of a purge; returns false if it was there.
    pub(super) fn add_known(&mut self, purge: PurgeId) -> bool {
        if !self.known.insert(purge) {
            return false;
        }
        self.known_order.push_back(purge);
        if self.known_order.len() > KNOWN_PURGES
            && let Some(oldest) = self.known_order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    /// Removes purges in full that are too old or too large in total.
    pub(super) fn release(&mut self, older_than: ClockMs, max_bytes: usize) {
        while let Some(oldest) = self.retained_order.front()
            && (oldest.since < older_than || self.retained_bytes > max_bytes)
        {
            self.retained.remove(&oldest.tag);
            self.retained_bytes -= oldest.bytes;
            self.retained_order.pop_front();
        }
    }

    /// Returns up to `max` of the newest records up to `applied`, oldest first.
    pub(super) fn stored(&self, applied: LogPosition, max: usize) -> Vec<StoredRecord> {
        let mut records: Vec<_> = self
            .ancestors(applied)
            .take(max)
            .map(|at| StoredRecord { position: at, predecessor: self.records[&at.tag].predecessor })
            .collect();
        records.reverse();
        records
    }

    /// True if a purge with this body is in memory.
    #[cfg(test)]
    pub(super) fn holds(&self, body: &[u8]) -> bool {
        self.retained.values().flatten().any(|retained| *retained.body == *body)
    }

    fn insert(&mut self, position: LogPosition, predecessor: LogPosition, has_purges: bool) {
        let record = HistoryRecord { position, predecessor, has_purges };
        if self.records.insert(position.tag, record).is_none() {
            self.order.push_back(position.tag);
        }
        while self.order.len() > self.max_records
            && let Some(oldest) = self.order.pop_front()
        {
            if self.position.is_some_and(|position| position.tag == oldest) {
                self.order.push_back(oldest);
            } else {
                self.records.remove(&oldest);
            }
        }
    }
}
