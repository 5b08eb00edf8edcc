//! Reading of the log.

use super::apply::{BatchContents, UnappliedRecord};
use super::bug::SeededBug;
use super::commands::CommandKind;
use super::outbox::SaveState;
use super::search::SearchState;
use super::{
    BatchNumber, ClockMs, ClusterCommand, ClusterMessage, ClusterNode, ExpiryReason, LinkState, LogEntry,
    LogTail,
};
use crate::record::{
    ClusterPurge, EntryId, LogPosition, LogRecord, PurgeId, RecordContents, RecordTag, StartId,
};

/// Maximum number of entries in the reply to a read.
const READ_ENTRIES: usize = 256;
/// Maximum number of entries in a page of a search.
const SEARCH_ENTRIES: usize = 64;
/// Number of unsuccessful searches in succession after which all pages become stale.
const MAX_FAILURES: u32 = 3;
/// Delay of a search for each search in succession before it, in milliseconds, and the maximum number of such delays.
const FAILURE_MS: u64 = 20;
const MAX_DELAYS: u64 = 50;
/// Interval of searches while the log has only entries of another secret, in milliseconds.
const FOREIGN_MS: u64 = 5000;
/// Time before a node without a position starts a log, in milliseconds. Nodes with a position start it earlier, because
/// the pages of nodes at the same position then remain valid.
const FIRST_LOG_MS: u64 = 2000;
/// Maximum random delay before a node with a position starts a log again, in milliseconds.
const RESTART_MS: u64 = 50;
/// Interval of reads that fail, in milliseconds.
const RETRY_MS: u64 = 500;

impl ClusterNode {
    /// Time at which a read or the start of a log is due.
    pub(super) fn reading_due_at(&self) -> Option<ClockMs> {
        let is_waiting = match self.link {
            LinkState::Disconnected => true,
            LinkState::Founding => self.commands.has(|kind| *kind == CommandKind::Append),
            LinkState::Foreign => false,
            LinkState::Following => self.commands.has(|kind| *kind == CommandKind::WaitingRead),
            LinkState::Checking | LinkState::Searching => self.commands.has(CommandKind::is_read),
        };
        (!is_waiting).then_some(self.search.not_before)
    }

    /// Sends the next read.
    pub(super) fn step_reading(&mut self, now: ClockMs) {
        if self.reading_due_at().is_none_or(|due_at| due_at > now) {
            return;
        }
        match self.link {
            LinkState::Disconnected => {}
            LinkState::Checking => self.send_check(None, now),
            LinkState::Following => {
                let read = self.history.position().map_or(EntryId::ZERO, |position| position.id);
                let after = self.tail.as_ref().map_or(read, |tail| tail.id.max(read));
                let wait_ms = self.beats_between_reads() * self.settings.timings.read_wait_ms;
                self.send_read(CommandKind::WaitingRead, after, wait_ms, now);
            }
            LinkState::Searching => {
                let what = ClusterCommand::ReadBack { before: self.search.before, limit: SEARCH_ENTRIES };
                self.send(CommandKind::SearchPage, what, now);
            }
            LinkState::Foreign => self.begin_search(now),
            LinkState::Founding => self.send_first_record(now),
        }
    }

    fn send_read(&mut self, kind: CommandKind, after: EntryId, wait_ms: u64, now: ClockMs) {
        let receipts_after = self.receipts_after;
        self.send(kind, ClusterCommand::Read { after, receipts_after, limit: READ_ENTRIES, wait_ms }, now);
    }

    /// Checks that the record of the position is in the log, and reads what follows it.
    pub(super) fn send_check(&mut self, complete_to: Option<ClockMs>, now: ClockMs) {
        let Some(position) = self.history.position() else { return };
        if self.search.is_catching_up {
            self.send_read(CommandKind::CatchUp, position.id, 0, now);
        } else {
            self.send_read(CommandKind::Check { position, complete_to }, position.id.before(), 0, now);
        }
    }

    /// Delays reading after an error.
    pub(super) fn delay_reading(&mut self, now: ClockMs) {
        self.search.not_before = now + RETRY_MS;
    }

    /// Searches the log from its newest entry backwards.
    pub(super) fn begin_search(&mut self, now: ClockMs) {
        self.commands.cancel_reads();
        self.link = LinkState::Searching;
        let SearchState { failures, last_id, reported, .. } = self.search;
        let not_before = now + FAILURE_MS * u64::from(failures.saturating_sub(1)).min(MAX_DELAYS);
        self.search = SearchState { failures, not_before, last_id, reported, ..SearchState::default() };
    }

    /// Handles the entries of a read that waited for them.
    pub(super) fn handle_waiting_read(&mut self, entries: &[LogEntry], now: ClockMs) {
        if self.link == LinkState::Following {
            self.follow(entries, now);
        }
    }

    /// Handles the entries of a read after a common record.
    pub(super) fn handle_catch_up(&mut self, entries: &[LogEntry], now: ClockMs) {
        if self.follow(entries, now) && entries.len() < READ_ENTRIES {
            self.search.is_catching_up = false;
            self.link = LinkState::Following;
        }
    }

    /// Handles the entries of a check.
    pub(super) fn handle_check(
        &mut self,
        position: LogPosition,
        complete_to: Option<ClockMs>,
        entries: &[LogEntry],
        now: ClockMs,
    ) {
        if !matches!(self.link, LinkState::Checking | LinkState::Following)
            || !self.history.is_before_position(position)
        {
            return;
        }
        let is_in_log = entries.first().is_some_and(|first| {
            first.id == position.id
                && self.decode(first.id, &first.record).is_ok_and(|(_, tag)| tag == position.tag)
        });
        if !(is_in_log || entries.is_empty() && self.has_bug(SeededBug::NoRewind)) {
            self.search.failures += 1;
            self.begin_search(now);
            return;
        }
        if !self.follow(entries, now) {
            return;
        }
        self.link = LinkState::Following;
        if entries.len() < READ_ENTRIES {
            self.search.failures = 0;
            self.is_replayed = true;
            if let Some(complete_to) = complete_to
                && !self.queue.note_fresh(complete_to)
            {
                self.contact.note_durable(complete_to);
            }
        }
    }

    /// Applies entries that continue the chain. Returns false if one does not, and begins a search.
    fn follow(&mut self, entries: &[LogEntry], now: ClockMs) -> bool {
        for entry in entries {
            if self.tail.as_ref().is_none_or(|tail| entry.id > tail.id) {
                self.tail = Some(LogTail::of(entry.id, &entry.record));
                self.note_new_entry(now);
            }
            let (record, tag) = match self.decode(entry.id, &entry.record) {
                Ok(decoded) => decoded,
                Err(error) => {
                    if entry.id > self.search.reported {
                        self.search.reported = entry.id;
                        self.refuse(ClusterMessage::InvalidRecord { id: entry.id, error });
                    }
                    continue;
                }
            };
            let position = LogPosition { id: entry.id, tag };
            let continues = self.history.position().is_some_and(|at| at.tag == record.predecessor.tag);
            if continues || self.has_bug(SeededBug::PredecessorIgnored) && self.history.find(tag).is_none() {
                self.accept(&record, tag, now);
            } else if !self.history.is_before_position(position) {
                self.search.failures += 1;
                self.begin_search(now);
                return false;
            }
        }
        true
    }

    /// Handles a page of a search, whose entries are in descending order.
    pub(super) fn handle_search_page(&mut self, entries: &[LogEntry], now: ClockMs) {
        let oldest_known = self.history.oldest();
        for entry in entries {
            self.search.tail.get_or_insert_with(|| LogTail::of(entry.id, &entry.record));
            self.search.before = Some(entry.id);
            let (record, tag) = match self.decode(entry.id, &entry.record) {
                Ok(decoded) => decoded,
                Err(error) => {
                    if !self.search.has_invalid && entry.id > self.search.reported {
                        self.search.reported = entry.id;
                        self.refuse(ClusterMessage::InvalidRecord { id: entry.id, error });
                    }
                    self.search.has_invalid = true;
                    continue;
                }
            };
            let position = LogPosition { id: entry.id, tag };
            let newest = *self.search.newest.get_or_insert((position, record.predecessor));
            let is_failing = self.search.failures >= MAX_FAILURES;
            let common = self.history.find(tag).or_else(|| self.history.find(record.predecessor.tag));
            match common {
                Some(common) if !is_failing => return self.resume(common, now),
                _ if is_failing || self.history.position().is_none() || entry.id < oldest_known => {
                    return self.expire(newest, now);
                }
                _ => {}
            }
        }
        if entries.len() == SEARCH_ENTRIES {
            return; // the next page follows
        }
        match self.search.newest {
            Some(newest) => self.expire(newest, now),
            None if self.search.has_invalid && self.history.position().is_none() => {
                self.link = LinkState::Foreign;
                self.search.not_before = now + FOREIGN_MS;
                self.log(ClusterMessage::ForeignLog);
            }
            None => {
                let delay = match self.history.position() {
                    Some(_) => self.random.u64(..=RESTART_MS),
                    None => FIRST_LOG_MS + self.random.u64(..=RESTART_MS),
                };
                self.link = LinkState::Founding;
                self.search.not_before = now + delay;
            }
        }
    }

    /// Continues after a common record. Records that were applied but are not in the log any more are appended again.
    fn resume(&mut self, common: LogPosition, now: ClockMs) {
        let from = self.history.position();
        let lost = self.history.rewind(common);
        if !lost.tags.is_empty() {
            self.counters.rewinds += 1;
            if let Some(from) = from {
                self.log(ClusterMessage::LogRewound { from: from.id, to: common.id });
            }
            self.repeat_lost(lost, now);
            self.leave_chain();
        }
        if from != Some(common) {
            self.queue.push(UnappliedRecord::new(common, None));
        }
        self.continue_after(common);
    }

    /// Makes all pages stale, and continues after the newest record.
    fn expire(&mut self, (newest, predecessor): (LogPosition, LogPosition), now: ClockMs) {
        let reason =
            if self.history.position().is_some() { ExpiryReason::Gap } else { ExpiryReason::NoPosition };
        self.leave_chain();
        let retained = self.history.jump(newest, predecessor);
        self.repeat_all(retained, now);
        let batch =
            if self.has_bug(SeededBug::GapIgnored) { None } else { Some(self.expire_everything(reason)) };
        let own = self.outbox.not_durable();
        self.queue.push(UnappliedRecord { own, ..UnappliedRecord::new(newest, batch) });
        self.continue_after(newest);
    }

    fn continue_after(&mut self, position: LogPosition) {
        self.tail = Some(LogTail { id: position.id, end: position.tag.0.to_vec() });
        self.link = LinkState::Checking;
        self.search.is_catching_up = true;
    }

    /// Makes all pages stale, and returns the number of the action.
    pub(super) fn expire_everything(&mut self, reason: ExpiryReason) -> BatchNumber {
        if reason != ExpiryReason::NoPosition || self.has_pages {
            self.counters.everything_expired += 1;
            self.log(ClusterMessage::EverythingExpired(reason));
        }
        self.begin_batch(BatchContents::Everything(reason))
    }

    /// Appends the first record of a log to an empty stream.
    fn send_first_record(&mut self, now: ClockMs) {
        let position = self.history.position();
        let predecessor = position.unwrap_or(LogPosition::START);
        let newest = self.search.tail.as_ref().map_or(EntryId::ZERO, |tail| tail.id);
        let largest = predecessor.id.max(newest).max(self.search.last_id);
        let Some(id) = largest.next_epoch() else { return self.delay_reading(now) };
        self.send_append(id, predecessor, self.search.tail.clone(), Vec::new(), now);
    }

    /// Handles the confirmation of the first record of a log. `is_outdated` is that of its append.
    pub(super) fn confirm_first_record(
        &mut self,
        record: &LogRecord,
        tag: RecordTag,
        is_outdated: bool,
        now: ClockMs,
    ) {
        let position = LogPosition { id: record.id, tag };
        self.counters.log_restarts += u64::from(self.history.position().is_some());
        self.log(ClusterMessage::LogRestarted(record.id));
        if self.history.position() == Some(record.predecessor) {
            self.accept(record, tag, now);
            self.is_off_chain &= is_outdated;
        } else {
            self.expire((position, record.predecessor), now);
        }
        self.continue_after(position);
    }

    /// Handles the refusal of the first record of a log.
    pub(super) fn refuse_first_record(&mut self, last_id: EntryId, now: ClockMs) {
        self.search.last_id = last_id;
        self.begin_search(now);
    }

    /// Applies the record that follows the position, and moves the position.
    pub(super) fn accept(&mut self, record: &LogRecord, tag: RecordTag, now: ClockMs) {
        let position = LogPosition { id: record.id, tag };
        let purges = match &record.contents {
            RecordContents::Purges(purges) => purges.as_slice(),
            RecordContents::Newer => &[],
        };
        self.history.advance(position, record.predecessor, purges, now);
        if !self.is_off_chain || self.has_bug(SeededBug::LossesIgnoredForPages) {
            self.passed.push(tag);
        }
        // The record may be read before the append is confirmed.
        if self.append.as_ref().is_some_and(|append| append.tag == tag && !append.is_outdated) {
            self.is_off_chain = false;
        }
        self.outbox.note_record(position, purges);
        let is_lifetime_ignored = self.has_bug(SeededBug::SequenceWithoutLifetime);
        let must_apply = |purge: &&ClusterPurge| {
            let start = if is_lifetime_ignored { StartId([0; 16]) } else { purge.id.start };
            self.history.add_known(PurgeId { start, ..purge.id }) || self.outbox.has_failed_save(purge.id)
        };
        let unknown: Vec<_> = purges.iter().filter(must_apply).cloned().collect();
        let batch = if record.contents == RecordContents::Newer {
            Some(self.expire_everything(ExpiryReason::NewerVersion))
        } else if unknown.iter().any(ClusterPurge::is_everything) {
            Some(self.expire_everything(ExpiryReason::Requested))
        } else if unknown.is_empty() {
            None
        } else {
            self.counters.purges_applied += unknown.len() as u64;
            Some(self.begin_batch(BatchContents::Purges(unknown)))
        };
        let is_own = |id: &PurgeId| self.outbox.find(*id).is_some_and(|own| own.save() == SaveState::Waiting);
        let own = purges.iter().map(|purge| purge.id).filter(is_own).collect();
        let others = purges.iter().filter(|purge| purge.origin != self.settings.node);
        let receipts: Vec<_> = others.map(|purge| (purge.origin.clone(), purge.id)).collect();
        if self.has_bug(SeededBug::ReceiptBeforeApply) {
            self.send_receipts(receipts.clone(), now);
        }
        let batch = batch.filter(|_| !self.has_bug(SeededBug::PositionBeforeApply));
        self.queue.push(UnappliedRecord { own, receipts, ..UnappliedRecord::new(position, batch) });
    }
}
