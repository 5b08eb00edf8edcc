//! Replies of Valkey.

use super::commands::{CommandKind, SentCommand};
use super::{ClockMs, ClusterMessage, ClusterNode, CommandError, CommandReply, LinkState, ReconnectReason};
use crate::record::{MemberRecord, NodeName};

impl ClusterNode {
    /// Handles the reply to a command.
    pub(super) fn handle_reply(&mut self, sent: SentCommand, reply: CommandReply, now: ClockMs) {
        let SentCommand { kind, sent_at, .. } = sent;
        match (kind, reply) {
            (kind, CommandReply::Failed(error)) => self.handle_failure(&kind, error, now),
            (CommandKind::WaitingRead, CommandReply::Read { entries, receipts }) => {
                self.handle_receipts(&receipts);
                self.handle_waiting_read(&entries, now);
            }
            (CommandKind::Check { position, complete_to }, CommandReply::Read { entries, receipts }) => {
                self.handle_receipts(&receipts);
                self.handle_check(position, complete_to, &entries, now);
            }
            (CommandKind::CatchUp, CommandReply::Read { entries, receipts }) => {
                self.handle_receipts(&receipts);
                self.handle_catch_up(&entries, now);
            }
            (CommandKind::SearchPage, CommandReply::ReadBack(entries)) => {
                self.handle_search_page(&entries, now);
            }
            (CommandKind::Append, CommandReply::Appended) => self.handle_appended(now),
            (CommandKind::Append, CommandReply::NotAppended { last_id }) => {
                self.handle_not_appended(last_id, now);
            }
            (CommandKind::Members, CommandReply::Members(members)) => {
                self.handle_members(&members, sent_at, now);
            }
            (CommandKind::Member { counter }, CommandReply::Written) => self.upkeep.confirm_member(counter),
            (CommandKind::Other(_), CommandReply::Written) => {}
            (kind, _) => self.handle_failure(&kind, CommandError::Other("unexpected reply".to_owned()), now),
        }
    }

    fn handle_failure(&mut self, kind: &CommandKind, error: CommandError, now: ClockMs) {
        self.counters.commands_failed += 1;
        let is_not_writable = error == CommandError::NotWritable;
        self.log(ClusterMessage::CommandFailed { command: kind.name(), error });
        if is_not_writable && self.upkeep.may_reconnect(now) {
            return self.reconnect(ReconnectReason::NotWritable);
        }
        if *kind == CommandKind::Append {
            self.delay_append(now);
        }
        if kind.is_read() || self.link == LinkState::Founding {
            self.delay_reading(now);
        }
    }

    /// Handles the list of members, in reply to a request that was sent at `sent_at`.
    fn handle_members(&mut self, members: &[(NodeName, Vec<u8>)], sent_at: ClockMs, now: ClockMs) {
        let mut own = None;
        for (node, bytes) in members {
            let record = match MemberRecord::decode(&self.settings.secret, node, bytes) {
                Ok(record) => record,
                Err(error) => {
                    self.refuse(ClusterMessage::InvalidMember { node: node.clone(), error });
                    continue;
                }
            };
            if *node == self.settings.node {
                own = Some(record);
                continue;
            }
            if let Some(applied) = record.applied {
                self.confirm_by_position(node, applied);
            }
            self.members.observe(node, record, sent_at, now);
        }
        self.members.end_reply(sent_at);
        self.check_generation(own.as_ref());
        self.check_name(own.as_ref(), now);
        let remove_ms = self.settings.timings.remove_ms;
        for node in self.members.remove_silent(remove_ms, now) {
            self.log(ClusterMessage::MemberRemoved(node.clone()));
            self.remove_member(node, now);
        }
        for node in self.members.delete_removed(remove_ms, now) {
            self.remove_member(node, now);
        }
        self.write_removals(now);
        self.outbox.change_all();
        self.after_members(sent_at, now);
    }
}
