//! The state of a node, and the order in which events change it.

use std::collections::VecDeque;

use super::apply::{ApplyQueue, BatchContents};
use super::bug::SeededBug;
use super::commands::{CommandKind, CommandTable};
use super::contact::ContactState;
use super::history::LogHistory;
use super::members::MemberTable;
use super::outbox::PurgeOutbox;
use super::schedule::UpkeepState;
use super::search::SearchState;
use super::{
    BatchNumber, ClockMs, ClusterAction, ClusterCommand, ClusterEvent, ClusterMessage, LinkState, LogTail,
    NodeCounters, NodeSettings, NodeStart, NodeStatus, PageRule, Readiness, ReconnectReason,
};
use crate::record::{EntryId, LogPosition, LogRecord, NodeName, RecordError, RecordTag, StartId, StoredNode};

/// Record that is being appended.
#[derive(Debug)]
pub(super) struct UnconfirmedAppend {
    pub(super) record: LogRecord,
    pub(super) tag: RecordTag,
    /// True if the node has left the chain since the append was sent ([`ClusterNode::leave_chain`]).
    pub(super) is_outdated: bool,
}

/// One node of a cluster.
///
/// # Log
///
/// Purges are records of one stream, the log. Each record has the tag of its predecessor, and is appended only if its
/// predecessor is the newest record. A node that has read a record has therefore read everything before it, in this log
/// or in the one from which the log was continued. [`LinkState`] shows the states of reading.
///
/// Valkey may lose the newest records (failover, restart) or the whole log. A node notices this at the next check, at
/// least once per second: the record of its position is missing. It reads backwards to the newest record that it has applied, and
/// continues there. It has applied more than the log contains, so it has no gap, and it appends the lost purges again. If
/// the log is empty, the first node appends a record after its own position: for nodes at the same position, nothing is
/// missing. A node that finds no common record has a gap: all its pages become stale.
///
/// # Receipts
///
/// Records are applied in order ([`ApplyQueue`]). Once a record is applied and durable, the node sends receipts to the
/// nodes that requested its purges, and its position moves. The member record has the position, too, and replaces lost
/// receipts. A node stores its own purges until every member has confirmed them, across restarts.
///
/// # Partitions
///
/// From each member record, a node derives the time up to which the member's purges are in the log ([`MemberTable`]). After
/// the node has received these records, it reads all records of the log. It then has every purge up to the oldest of these
/// times. [`ContactState`] limits pages if the oldest time is too old, whatever the cause: no connection to Valkey, a
/// primary that was replaced, a member that is separated or dead.
#[derive(Debug)]
pub struct ClusterNode {
    pub(super) settings: NodeSettings,
    pub(super) start: StartId,
    /// Generation in the member record; 0 until the list of members was read.
    pub(super) generation: u64,
    /// Largest generation of earlier lifetimes, from the position file; 0 without one.
    pub(super) stored_generation: u64,
    pub(super) boot: [u8; 16],
    pub(super) has_pages: bool,
    pub(super) random: fastrand::Rng,
    pub(super) actions: VecDeque<ClusterAction>,
    pub(super) commands: CommandTable,
    pub(super) link: LinkState,
    pub(super) search: SearchState,
    pub(super) history: LogHistory,
    pub(super) queue: ApplyQueue,
    pub(super) applied: Option<LogPosition>,
    pub(super) tail: Option<LogTail>,
    pub(super) outbox: PurgeOutbox,
    pub(super) append: Option<UnconfirmedAppend>,
    pub(super) append_at: ClockMs,
    pub(super) lost_races: u32,
    pub(super) last_sequence: u64,
    pub(super) last_batch: u64,
    pub(super) members: MemberTable,
    pub(super) contact: ContactState,
    pub(super) is_replayed: bool,
    /// True if the node may have applied purges that neither the log nor its outbox has: after its start, a gap, and a loss of
    /// records; also after a limit of the age of pages. A record that the node appends is after all of them.
    pub(super) is_off_chain: bool,
    /// Records accepted since the rule for pages was sent last.
    pub(super) passed: Vec<RecordTag>,
    /// Rule for pages of other nodes that was sent last.
    page_rule: PageRule,
    pub(super) receipts_after: EntryId,
    pub(super) upkeep: UpkeepState,
    pub(super) counters: NodeCounters,
    pub(super) bug: Option<SeededBug>,
}

impl ClusterNode {
    /// Creates a node at the start of its process.
    pub fn new(settings: NodeSettings, start: NodeStart, now: ClockMs) -> Self {
        let NodeStart { start, boot, stored, has_pages, seed, counters } = start;
        let mut actions = VecDeque::new();
        let stored = stored.as_deref().and_then(|bytes| {
            StoredNode::decode(&settings.secret, &settings.node, bytes)
                .map_err(|error| {
                    actions.push_back(ClusterAction::Log(ClusterMessage::InvalidPosition(error)));
                })
                .ok()
        });
        let fresh_at =
            stored.as_ref().filter(|stored| stored.boot == boot).and_then(|stored| stored.fresh_at);
        let mut node = Self {
            start,
            generation: 0,
            stored_generation: 0,
            boot,
            has_pages,
            random: fastrand::Rng::with_seed(seed),
            actions,
            commands: CommandTable::default(),
            link: LinkState::Disconnected,
            search: SearchState::default(),
            history: LogHistory::new(settings.timings.history_records),
            queue: ApplyQueue::default(),
            applied: None,
            tail: None,
            outbox: PurgeOutbox::new(settings.timings.max_unsent_bytes, settings.timings.max_own_bytes),
            append: None,
            append_at: now,
            lost_races: 0,
            last_sequence: 0,
            last_batch: 0,
            members: MemberTable::default(),
            contact: ContactState::new(
                settings.partition,
                settings.timings.detection_ms,
                fresh_at.filter(|&fresh_at| fresh_at <= now),
                now,
            ),
            is_replayed: false,
            // An earlier process may have applied purges that are neither in the log nor in its position file.
            is_off_chain: true,
            passed: Vec::new(),
            page_rule: PageRule::default(),
            receipts_after: EntryId::ZERO,
            upkeep: UpkeepState::new(now),
            counters,
            bug: None,
            settings,
        };
        if let Some(stored) = stored {
            node.restore(stored, now);
        }
        node
    }

    /// Handles an event at the time `now`. Times never decrease.
    pub fn handle(&mut self, event: ClusterEvent, now: ClockMs) {
        if self.upkeep.has_stopped() {
            return;
        }
        match event {
            ClusterEvent::Purge { ticket, zone, body, wait_ms } => {
                self.request_purge(ticket, zone, body, wait_ms, now);
            }
            ClusterEvent::PurgeDurable(ticket) => self.handle_purge_saved(ticket, true, now),
            ClusterEvent::PurgeNotSaved(ticket) => self.handle_purge_saved(ticket, false, now),
            ClusterEvent::Applied(batch) => self.handle_applied(batch),
            ClusterEvent::AppliedNotSaved(batch) => self.handle_applied_not_saved(batch, now),
            ClusterEvent::PositionStored { number, is_stored } => self.end_store(number, is_stored),
            ClusterEvent::Connected => self.connect(now),
            ClusterEvent::Disconnected => {
                self.counters.disconnects += u64::from(self.link != LinkState::Disconnected);
                self.disconnect();
            }
            ClusterEvent::NotConnected => self.counters.connects_failed += 1,
            ClusterEvent::Reply { command, reply } => {
                if let Some(sent) = self.commands.take(command) {
                    self.handle_reply(sent, reply, now);
                }
            }
            ClusterEvent::Gap => self.leave_chain(),
            ClusterEvent::Forget(node) => {
                self.members.forget(&node, now);
                self.outbox.change_all();
                self.write_removals(now);
            }
            ClusterEvent::Shutdown { is_leaving } => self.upkeep.begin_shutdown(is_leaving, now),
            ClusterEvent::Tick => {}
        }
        self.step(now);
    }

    /// Returns the next action that the caller must execute.
    pub fn next_action(&mut self) -> Option<ClusterAction> {
        self.actions.pop_front()
    }

    /// Returns the time at which [`ClusterEvent::Tick`] is due; `None` if only other events change the state. It may be
    /// in the past.
    pub fn next_deadline(&self) -> Option<ClockMs> {
        let mut times = [
            self.contact.deadline(),
            self.outbox.answer_due_at(),
            self.upkeep.store_due_at(&self.settings.timings),
            self.upkeep.shutdown_due_at(),
            self.queue.repeat_due_at(),
            None,
            None,
        ];
        if self.link != LinkState::Disconnected {
            times[5] = self.commands.deadline().min_some(Some(self.upkeep.heartbeat_at));
            times[6] = self.reading_due_at().min_some(self.append_due_at());
        }
        times.into_iter().flatten().min()
    }

    /// Returns the status at the time `now`.
    pub fn status(&self, now: ClockMs) -> NodeStatus {
        let expected: Vec<&NodeName> = self.members.expected().map(|(node, _)| node).collect();
        let (pending_count, pending) = self.outbox.status(&expected, now);
        NodeStatus {
            link: self.link,
            read: self.history.position().map(|position| position.id),
            applied: self.applied.map(|position| position.id),
            behind_ms: self.contact.fresh_at().map(|fresh_at| now.saturating_sub(fresh_at)),
            readiness: self.contact.readiness(),
            partition: self.partition_report(now),
            is_name_taken: self.upkeep.is_name_taken(),
            members_known: self.members.is_known(),
            members: self.members.status(self.settings.timings.silent_ms, now),
            pending,
            pending_count,
            counters: self.counters,
        }
    }

    /// Does everything that is due.
    fn step(&mut self, now: ClockMs) {
        self.step_repetition(now);
        self.finish_applied(now);
        if self.link != LinkState::Disconnected {
            if self.commands.deadline().is_some_and(|deadline| deadline <= now) {
                self.log(ClusterMessage::NoReply);
                self.reconnect(ReconnectReason::NoReply);
            } else {
                self.step_heartbeat(now);
                self.step_reading(now);
                self.step_append(now);
            }
        }
        self.step_answers(now);
        self.step_readiness(now);
        self.step_page_rule();
        self.step_store(now);
        self.step_shutdown(now);
        let timings = &self.settings.timings;
        self.history.release(now.saturating_sub(timings.retain_ms), timings.retain_bytes);
    }

    fn step_readiness(&mut self, now: ClockMs) {
        let is_limited = |readiness| matches!(readiness, Readiness::StaleBefore(_));
        let is_fixed = self.has_bug(SeededBug::AgeLimitFixed) && is_limited(self.contact.readiness());
        if let Some(readiness) =
            self.contact.update(now).filter(|&readiness| !(is_fixed && is_limited(readiness)))
        {
            // All pages were made stale during the limit, which is later than every known position. Pages of other nodes are
            // used again from the next record of this node on.
            if readiness == Readiness::Serving {
                self.leave_chain();
            }
            self.actions.push_back(ClusterAction::SetReadiness(readiness));
        }
        if let Some(is_partitioned) = self.contact.take_partition_change() {
            self.counters.partitions += u64::from(is_partitioned);
            self.log(match self.partition_report(now) {
                Some(report) => ClusterMessage::Partitioned(report),
                None => ClusterMessage::PartitionEnded,
            });
        }
    }

    /// Notes that this node has applied purges that are not in the log, or has made pages stale. Only a record whose append is
    /// sent later is after all of them.
    pub(super) fn leave_chain(&mut self) {
        self.is_off_chain = true;
        if let Some(append) = &mut self.append {
            append.is_outdated = true;
        }
    }

    fn step_page_rule(&mut self) {
        let may_miss_purges = self.contact.readiness() != Readiness::Serving || self.upkeep.is_name_taken();
        let is_off_chain = self.is_off_chain && !self.has_bug(SeededBug::LossesIgnoredForPages);
        let is_in_effect = self.queue.is_in_effect() && !self.queue.is_repeating();
        let rule = PageRule {
            position: self.history.position().filter(|_| !may_miss_purges),
            usable_until: self.contact.partition_at(),
            is_complete: !is_off_chain && is_in_effect && self.outbox.is_in_log()
                || self.has_bug(SeededBug::UnloggedPurgesIgnored),
            is_continuous: !is_off_chain,
        };
        if rule != self.page_rule || !self.passed.is_empty() {
            self.page_rule = rule;
            let passed = std::mem::take(&mut self.passed);
            self.actions.push_back(ClusterAction::SetPageRule { rule, passed });
        }
    }

    fn connect(&mut self, now: ClockMs) {
        self.disconnect();
        self.link =
            if self.history.position().is_some() { LinkState::Checking } else { LinkState::Searching };
        self.search = SearchState::default();
        self.receipts_after = EntryId::ZERO;
        self.append_at = now;
        self.upkeep.request_heartbeat(now);
    }

    fn disconnect(&mut self) {
        self.link = LinkState::Disconnected;
        self.commands.clear();
        self.append = None;
        self.tail = None;
        self.outbox.change_all();
    }

    /// Requires new connections.
    pub(super) fn reconnect(&mut self, reason: ReconnectReason) {
        self.disconnect();
        self.counters.disconnects += 1;
        self.actions.push_back(ClusterAction::Reconnect(reason));
    }

    /// Sends a command.
    pub(super) fn send(&mut self, kind: CommandKind, what: ClusterCommand, now: ClockMs) {
        let wait_ms = if let ClusterCommand::Read { wait_ms, .. } = what { wait_ms } else { 0 };
        let command = self.commands.add(kind, wait_ms + self.settings.timings.reply_ms, now);
        self.actions.push_back(ClusterAction::Send { command, what });
    }

    /// Writes a message to the error log.
    pub(super) fn log(&mut self, message: ClusterMessage) {
        self.actions.push_back(ClusterAction::Log(message));
    }

    /// Notes that a value is not a valid record.
    pub(super) fn refuse(&mut self, message: ClusterMessage) {
        self.counters.values_refused += 1;
        self.log(message);
    }

    /// Returns the number of the next action that the caller confirms.
    pub(super) fn next_batch(&mut self) -> BatchNumber {
        self.last_batch += 1;
        BatchNumber(self.last_batch)
    }

    /// Sends an action that applies purges, and returns its number.
    pub(super) fn begin_batch(&mut self, contents: BatchContents) -> BatchNumber {
        let batch = self.next_batch();
        self.queue.begin(batch, contents.clone());
        self.actions.push_back(contents.into_action(batch));
        batch
    }

    /// Decodes a record of the log.
    pub(super) fn decode(&self, id: EntryId, bytes: &[u8]) -> Result<(LogRecord, RecordTag), RecordError> {
        #[cfg(test)]
        let resealed = self.has_bug(SeededBug::TagIgnored).then(|| self.settings.secret.reseal(bytes));
        #[cfg(test)]
        let bytes = resealed.as_deref().unwrap_or(bytes);
        LogRecord::decode(&self.settings.secret, id, bytes)
    }

    /// Returns true if the node could append a purge with this body again.
    #[cfg(test)]
    pub(super) fn holds(&self, body: &[u8]) -> bool {
        self.outbox.holds(body) || self.history.holds(body)
    }

    /// Returns true if the node counts another node as a member.
    #[cfg(test)]
    pub(super) fn expects(&self, node: &NodeName) -> bool {
        self.members.expected().any(|(member, _)| member == node)
    }

    /// Returns true if the node has read the list of members, and another node is not a member.
    #[cfg(test)]
    pub(super) fn lacks(&self, node: &NodeName) -> bool {
        self.members.is_known() && !self.members.has(node)
    }

    /// Returns true if a test has put this bug into the node.
    pub(super) fn has_bug(&self, bug: SeededBug) -> bool {
        cfg!(test) && self.bug == Some(bug)
    }
}

/// Minimum of two optional times.
trait MinTime {
    fn min_some(self, other: Self) -> Self;
}

impl MinTime for Option<ClockMs> {
    fn min_some(self, other: Self) -> Self {
        match (self, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}
