//! Model of Valkey: a primary, a replica that lags, and what they lose.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::rc::Rc;

use crate::node::{ClusterCommand, CommandError, CommandReply, LogEntry, LogTail};
use crate::record::{EntryId, NodeName};

/// Value in a stream.
type StreamValue = Rc<[u8]>;

/// Stream with its newest ID, which remains when entries are removed.
#[derive(Clone, Default)]
pub(super) struct StreamModel {
    pub(super) entries: BTreeMap<EntryId, StreamValue>,
    pub(super) last_id: EntryId,
}

impl StreamModel {
    fn after(&self, after: EntryId, limit: usize) -> Vec<LogEntry> {
        let range = self.entries.range((Bound::Excluded(after), Bound::Unbounded)).take(limit);
        range.map(|(&id, value)| LogEntry { id, record: value.to_vec() }).collect()
    }

    fn back(&self, before: Option<EntryId>, limit: usize) -> Vec<LogEntry> {
        let end = before.map_or(Bound::Unbounded, Bound::Excluded);
        let range = self.entries.range((Bound::Unbounded, end)).rev().take(limit);
        range.map(|(&id, value)| LogEntry { id, record: value.to_vec() }).collect()
    }

    pub(super) fn insert(&mut self, id: EntryId, value: StreamValue) {
        if id > self.last_id {
            self.last_id = id;
            self.entries.insert(id, value);
        }
    }

    /// Removes all but the newest `keep` entries.
    pub(super) fn keep(&mut self, keep: usize) {
        while self.entries.len() > keep {
            self.entries.pop_first();
        }
    }
}

/// Data of one server.
#[derive(Clone, Default)]
pub(super) struct ServerData {
    pub(super) log: StreamModel,
    receipts: BTreeMap<NodeName, StreamModel>,
    pub(super) members: BTreeMap<NodeName, Vec<u8>>,
}

/// Write that a replica executes, too.
#[derive(Clone)]
enum ReplicatedWrite {
    Log { id: EntryId, value: StreamValue, max_records: usize },
    Trim(EntryId),
    Receipt { to: NodeName, id: EntryId, value: StreamValue },
    Member { node: NodeName, record: Vec<u8> },
    RemoveMember(NodeName),
}

impl ServerData {
    fn write(&mut self, write: ReplicatedWrite) {
        match write {
            ReplicatedWrite::Log { id, value, max_records } => {
                self.log.insert(id, value);
                self.log.keep(max_records);
            }
            ReplicatedWrite::Trim(before) => self.log.entries = self.log.entries.split_off(&before),
            ReplicatedWrite::Receipt { to, id, value } => {
                let stream = self.receipts.entry(to).or_default();
                stream.insert(id, value);
                stream.keep(1000);
            }
            ReplicatedWrite::Member { node, record } => {
                self.members.insert(node, record);
            }
            ReplicatedWrite::RemoveMember(node) => {
                self.members.remove(&node);
            }
        }
    }
}

/// Server that is, or was, the primary.
#[derive(Clone, Default)]
pub(super) struct ServerModel {
    pub(super) data: ServerData,
    replica: ServerData,
    /// Writes that the replica has not executed, with their times.
    unreplicated: VecDeque<(u64, ReplicatedWrite)>,
    pub(super) is_out_of_memory: bool,
}

/// Result of a command.
pub(super) enum Execution {
    Reply(CommandReply),
    /// The read waits for entries.
    Waits,
}

impl ServerModel {
    fn write(&mut self, write: ReplicatedWrite, time: u64) -> CommandReply {
        if self.is_out_of_memory {
            return CommandReply::Failed(CommandError::OutOfMemory);
        }
        self.unreplicated.push_back((time, write.clone()));
        self.data.write(write);
        CommandReply::Written
    }

    /// Lets the replica execute all writes until `time`.
    pub(super) fn replicate(&mut self, time: u64) {
        while let Some((at, _)) = self.unreplicated.front()
            && *at <= time
            && let Some((_, write)) = self.unreplicated.pop_front()
        {
            self.replica.write(write);
        }
    }

    /// Replaces the data by that of the replica, which may lag.
    pub(super) fn lose_unreplicated(&mut self) {
        self.data = self.replica.clone();
        self.unreplicated.clear();
    }

    /// Replaces the data on all replicas.
    pub(super) fn replace(&mut self, data: ServerData) {
        self.replica = data.clone();
        self.data = data;
        self.unreplicated.clear();
    }

    /// Executes a command of a node at `time`; `clock` is the server's wall clock.
    pub(super) fn execute(
        &mut self,
        node: &NodeName,
        command: &ClusterCommand,
        time: u64,
        clock: u64,
    ) -> Execution {
        let reply = match command {
            ClusterCommand::Read { after, receipts_after, limit, wait_ms } => {
                let reply = self.read(node, *after, *receipts_after, *limit);
                if *wait_ms > 0 && reply.is_none() {
                    return Execution::Waits;
                }
                reply.unwrap_or(CommandReply::Read { entries: Vec::new(), receipts: Vec::new() })
            }
            ClusterCommand::ReadBack { before, limit } => {
                CommandReply::ReadBack(self.data.log.back(*before, *limit))
            }
            ClusterCommand::Append { id, expected, record, max_records } => {
                let newest =
                    self.data.log.entries.last_key_value().map(|(&id, value)| LogTail::of(id, value));
                if newest != *expected || *id <= self.data.log.last_id {
                    CommandReply::NotAppended { last_id: self.data.log.last_id }
                } else {
                    let value = record.as_slice().into();
                    let write = ReplicatedWrite::Log { id: *id, value, max_records: *max_records as usize };
                    match self.write(write, time) {
                        CommandReply::Written => CommandReply::Appended,
                        failed => failed,
                    }
                }
            }
            ClusterCommand::ReadMembers => CommandReply::Members(
                self.data.members.iter().map(|(node, value)| (node.clone(), value.clone())).collect(),
            ),
            ClusterCommand::WriteMember { record } => {
                self.write(ReplicatedWrite::Member { node: node.clone(), record: record.clone() }, time)
            }
            ClusterCommand::ForgetMember { node, record } => {
                self.write(ReplicatedWrite::Member { node: node.clone(), record: record.clone() }, time)
            }
            ClusterCommand::RemoveMember { node } => {
                self.write(ReplicatedWrite::RemoveMember(node.clone()), time)
            }
            ClusterCommand::SendReceipt { to, record } => {
                let last = self.data.receipts.get(to).map_or(EntryId::ZERO, |stream| stream.last_id);
                let id = EntryId { epoch: clock.max(1), number: 0 };
                let id = if id > last { id } else { EntryId { epoch: last.epoch, number: last.number + 1 } };
                self.write(
                    ReplicatedWrite::Receipt { to: to.clone(), id, value: record.as_slice().into() },
                    time,
                )
            }
            ClusterCommand::Trim { before } => self.write(ReplicatedWrite::Trim(*before), time),
        };
        Execution::Reply(reply)
    }

    /// Reads new entries; `None` if there are none.
    pub(super) fn read(
        &self,
        node: &NodeName,
        after: EntryId,
        receipts_after: EntryId,
        limit: usize,
    ) -> Option<CommandReply> {
        let entries = self.data.log.after(after, limit);
        let receipts =
            self.data.receipts.get(node).map_or(Vec::new(), |stream| stream.after(receipts_after, limit));
        let is_empty = entries.is_empty() && receipts.is_empty();
        (!is_empty).then_some(CommandReply::Read { entries, receipts })
    }
}
