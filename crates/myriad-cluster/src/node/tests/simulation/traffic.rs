//! Count of the commands and bytes between the nodes and Valkey.

use std::collections::BTreeMap;

use crate::node::{ClusterCommand, CommandReply, LogEntry};

/// Approximate size of the script of `Append`, in bytes.
const SCRIPT_BYTES: usize = 750;
/// Approximate size of the name of a key, in bytes.
const KEY_BYTES: usize = 24;
/// Approximate size of the ID of an entry, in bytes.
const ID_BYTES: usize = 16;
/// Approximate size of the name of a node, in bytes.
const NODE_BYTES: usize = 8;
/// Approximate size of the name of a command, or of an option such as `COUNT` with its value, in bytes.
const OPTION_BYTES: usize = 12;
/// Bytes around each value in the protocol: its type, its length, and twice `\r\n`.
const FRAME_BYTES: usize = 8;

/// Commands of one name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommandTraffic {
    pub(super) commands: u64,
    /// Bytes of the commands.
    pub(super) bytes: u64,
}

/// Commands, and bytes in both directions.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    /// By the name of the command.
    pub(super) sent: BTreeMap<&'static str, CommandTraffic>,
    pub(super) reply_bytes: u64,
}

impl Traffic {
    pub(super) fn note_command(&mut self, command: &ClusterCommand) {
        let (name, values, bytes) = size(command);
        let count = self.sent.entry(name).or_default();
        count.commands += 1;
        count.bytes += (bytes + values * FRAME_BYTES) as u64;
    }

    pub(super) fn note_reply(&mut self, reply: &CommandReply) {
        let entries = |entries: &[LogEntry]| {
            let bytes = entries.iter().map(|entry| entry.record.len() + ID_BYTES + 5 * FRAME_BYTES);
            bytes.sum::<usize>()
        };
        self.reply_bytes += match reply {
            CommandReply::Read { entries: log, receipts } => {
                2 * (KEY_BYTES + 2 * FRAME_BYTES) + entries(log) + entries(receipts)
            }
            CommandReply::ReadBack(log) => entries(log),
            CommandReply::Members(members) => {
                members.iter().map(|(_, record)| record.len() + NODE_BYTES + 2 * FRAME_BYTES).sum()
            }
            _ => FRAME_BYTES,
        } as u64;
    }
}

/// Returns the name of a command, its number of values, and their size in bytes.
fn size(command: &ClusterCommand) -> (&'static str, usize, usize) {
    match command {
        ClusterCommand::Read { .. } => ("XREAD", 9, 3 * OPTION_BYTES + 2 * KEY_BYTES + 2 * ID_BYTES),
        ClusterCommand::ReadBack { .. } => ("XREVRANGE", 6, 2 * OPTION_BYTES + KEY_BYTES + ID_BYTES),
        ClusterCommand::Append { expected, record, .. } => {
            let tail = expected.as_ref().map_or(0, |tail| tail.end.len());
            ("EVAL", 9, SCRIPT_BYTES + KEY_BYTES + 2 * ID_BYTES + tail + record.len() + OPTION_BYTES)
        }
        ClusterCommand::ReadMembers => ("HGETALL", 2, OPTION_BYTES + KEY_BYTES),
        ClusterCommand::WriteMember { record } | ClusterCommand::ForgetMember { record, .. } => {
            ("HSET", 4, OPTION_BYTES + KEY_BYTES + NODE_BYTES + record.len())
        }
        ClusterCommand::RemoveMember { .. } => ("HDEL", 3, OPTION_BYTES + KEY_BYTES + NODE_BYTES),
        ClusterCommand::SendReceipt { record, .. } => {
            ("XADD and EXPIRE", 11, 4 * OPTION_BYTES + 2 * (KEY_BYTES + NODE_BYTES) + record.len())
        }
        ClusterCommand::Trim { .. } => ("XTRIM", 5, 2 * OPTION_BYTES + KEY_BYTES + ID_BYTES),
    }
}
