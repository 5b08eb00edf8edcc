//! Commands that wait for a reply.

use std::collections::BTreeMap;

use super::{ClockMs, CommandNumber};
use crate::record::LogPosition;

/// Purpose of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandKind {
    /// Waits for records after the newest entry.
    WaitingRead,
    /// Checks that this record is in the log, and reads what follows it. If it is complete, the node has every purge
    /// requested before `complete_to`.
    Check { position: LogPosition, complete_to: Option<ClockMs> },
    /// Reads the records after a common record that was found by a search.
    CatchUp,
    /// Reads backwards.
    SearchPage,
    /// Appends a record.
    Append,
    /// Reads the members.
    Members,
    /// Writes the member record with this counter.
    Member { counter: u64 },
    /// Writes something whose reply changes nothing; has the name of the command.
    Other(&'static str),
}

impl CommandKind {
    /// Name of the command, for messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::WaitingRead | Self::Check { .. } | Self::CatchUp => "XREAD",
            Self::SearchPage => "XREVRANGE",
            Self::Append => "EVAL",
            Self::Members => "HGETALL",
            Self::Member { .. } => "HSET",
            Self::Other(name) => name,
        }
    }

    /// True if the command reads the log.
    pub(super) fn is_read(&self) -> bool {
        matches!(self, Self::WaitingRead | Self::Check { .. } | Self::CatchUp | Self::SearchPage)
    }
}

/// Command that waits for a reply.
#[derive(Debug)]
pub(super) struct SentCommand {
    pub(super) kind: CommandKind,
    pub(super) sent_at: ClockMs,
    expires_at: ClockMs,
}

/// Commands that wait for replies. Replies without an entry here are ignored, which makes late and duplicate replies
/// harmless.
#[derive(Debug, Default)]
pub(super) struct CommandTable {
    last: u64,
    sent: BTreeMap<CommandNumber, SentCommand>,
}

impl CommandTable {
    /// Adds a command that must have a reply within `reply_ms`.
    pub(super) fn add(&mut self, kind: CommandKind, reply_ms: u64, now: ClockMs) -> CommandNumber {
        self.last += 1;
        let number = CommandNumber(self.last);
        self.sent.insert(number, SentCommand { kind, sent_at: now, expires_at: now + reply_ms });
        number
    }

    /// Removes the command of a reply.
    pub(super) fn take(&mut self, number: CommandNumber) -> Option<SentCommand> {
        self.sent.remove(&number)
    }

    /// Removes all commands.
    pub(super) fn clear(&mut self) {
        self.sent.clear();
    }

    /// Ignores the replies to commands that read the log.
    pub(super) fn cancel_reads(&mut self) {
        self.sent.retain(|_, command| !command.kind.is_read());
    }

    /// Returns true if a command of this kind waits for a reply.
    pub(super) fn has(&self, is_kind: impl Fn(&CommandKind) -> bool) -> bool {
        self.sent.values().any(|command| is_kind(&command.kind))
    }

    /// Time at which the first command has waited too long.
    pub(super) fn deadline(&self) -> Option<ClockMs> {
        self.sent.values().map(|command| command.expires_at).min()
    }
}
