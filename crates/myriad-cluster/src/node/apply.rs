//! Records that were read and are being applied, in their order.

use std::collections::VecDeque;

use super::{BatchNumber, ClockMs};
use crate::record::{LogPosition, NodeName, PurgeId};

/// Record that is being applied.
#[derive(Debug)]
pub(super) struct UnappliedRecord {
    /// Position of the node once the record is applied.
    pub(super) position: LogPosition,
    /// Action that is not yet confirmed.
    pub(super) batch: Option<BatchNumber>,
    /// Purges of this node that are not yet durable here.
    pub(super) own: Vec<PurgeId>,
    /// Purges to confirm to their nodes.
    pub(super) receipts: Vec<(NodeName, PurgeId)>,
    /// Time up to which the node has all purges once the record is applied.
    pub(super) fresh_at: Option<ClockMs>,
}

/// Records in the order of the log; each counts as applied only when all earlier ones are.
#[derive(Debug, Default)]
pub(super) struct ApplyQueue {
    records: VecDeque<UnappliedRecord>,
}

impl ApplyQueue {
    pub(super) fn push(&mut self, record: UnappliedRecord) {
        self.records.push_back(record);
    }

    /// Notes that the node has all purges up to `fresh_at` once the queue is empty. Returns false if it is empty.
    pub(super) fn note_fresh(&mut self, fresh_at: ClockMs) -> bool {
        let Some(last) = self.records.back_mut() else { return false };
        last.fresh_at = last.fresh_at.max(Some(fresh_at));
        true
    }

    /// Handles the confirmation of an action.
    pub(super) fn confirm(&mut self, batch: BatchNumber) {
        for record in &mut self.records {
            if record.batch == Some(batch) {
                record.batch = None;
            }
        }
    }

    /// Notes that an own purge is durable.
    pub(super) fn note_durable(&mut self, purge: PurgeId) {
        for record in &mut self.records {
            record.own.retain(|&own| own != purge);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Removes the oldest record if it is applied.
    pub(super) fn pop_applied(&mut self) -> Option<UnappliedRecord> {
        let oldest = self.records.front()?;
        if oldest.batch.is_some() || !oldest.own.is_empty() {
            return None;
        }
        self.records.pop_front()
    }
}
