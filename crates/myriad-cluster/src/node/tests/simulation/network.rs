//! The network between hosts and Valkey.

use super::host::HostConnection;
use super::server::Execution;
use super::world::{WaitingRead, World, WorldEvent};
use crate::node::{ClusterCommand, ClusterEvent, CommandError, CommandNumber, CommandReply};

impl World {
    fn delay(&mut self, host: usize) -> u64 {
        if self.hosts[host].is_slow {
            self.random.u64(100..1200)
        } else if self.random.u8(..50) == 0 {
            self.random.u64(..300)
        } else {
            self.random.u64(..4)
        }
    }

    /// Sends a command; commands of one connection arrive in order.
    pub(super) fn send(&mut self, host: usize, number: CommandNumber, command: ClusterCommand) {
        let delay = self.delay(host);
        let channel = usize::from(!matches!(command, ClusterCommand::Read { wait_ms: 1.., .. }));
        let connection = &mut self.hosts[host].connection;
        if !connection.is_open {
            return;
        }
        let arrives = (self.time + delay).max(connection.busy_until[channel]);
        connection.busy_until[channel] = arrives;
        let event = WorldEvent::Execute { host, connection: *connection, number, command };
        if self.random.u8(..100) == 0 {
            // A client library repeats a command whose reply it lost.
            self.after(arrives - self.time, event.clone());
        }
        self.after(arrives - self.time, event);
    }

    pub(super) fn execute(
        &mut self,
        host: usize,
        connection: HostConnection,
        number: CommandNumber,
        command: &ClusterCommand,
    ) {
        let event = WorldEvent::Execute { host, connection, number, command: command.clone() };
        if self.server_paused_until > self.time {
            return self.after(self.server_paused_until - self.time, event);
        }
        if self.hosts[host].is_cut {
            if self.random.bool() {
                let delay = self.random.u64(1..5000); // packets that are in a queue of the network
                self.after(delay, event);
            }
            return;
        }
        let is_write = !matches!(
            command,
            ClusterCommand::Read { .. } | ClusterCommand::ReadBack { .. } | ClusterCommand::ReadMembers
        );
        let is_split = self.split.as_ref().is_some_and(|(server, _)| *server == connection.server);
        let is_replica = connection.server != self.primary && !is_split;
        if is_replica && is_write {
            return self.reply(host, connection, number, CommandReply::Failed(CommandError::NotWritable));
        }
        let server = if is_replica { self.primary } else { connection.server };
        if matches!(command, ClusterCommand::WriteMember { .. }) {
            self.hosts[host].member_at = self.time;
        }
        self.traffic.note_command(command);
        let clock = self.time + self.server_clock_offset;
        let name = self.hosts[host].name.clone();
        match self.servers[server].execute(&name, command, self.time, clock) {
            Execution::Reply(reply) => {
                self.reply(host, connection, number, reply);
                if is_write {
                    self.wake_reads();
                }
            }
            Execution::Waits => {
                if let &ClusterCommand::Read { after, receipts_after, limit, wait_ms } = command {
                    self.next_waiting += 1;
                    let read = WaitingRead { host, connection, number, after, receipts_after, limit };
                    self.waiting.insert(self.next_waiting, read);
                    self.after(wait_ms, WorldEvent::ReadExpires { waiter: self.next_waiting });
                }
            }
        }
    }

    /// Replies to reads that wait for entries which exist now.
    pub(super) fn wake_reads(&mut self) {
        let mut ready = Vec::new();
        for (&waiter, read) in &self.waiting {
            let is_split = self.split.as_ref().is_some_and(|(server, _)| *server == read.connection.server);
            let server = if is_split { read.connection.server } else { self.primary };
            let name = &self.hosts[read.host].name;
            if let Some(reply) = self.servers[server].read(name, read.after, read.receipts_after, read.limit)
            {
                ready.push((waiter, reply));
            }
        }
        for (waiter, reply) in ready {
            if let Some(read) = self.waiting.remove(&waiter) {
                self.reply(read.host, read.connection, read.number, reply);
            }
        }
    }

    pub(super) fn reply(
        &mut self,
        host: usize,
        connection: HostConnection,
        number: CommandNumber,
        reply: CommandReply,
    ) {
        self.traffic.note_reply(&reply);
        let delay = self.delay(host);
        let event = ClusterEvent::Reply { command: number, reply };
        self.after(delay, WorldEvent::Deliver { host, connection: connection.number, event });
    }

    /// Closes the connection of a host, which then tries to connect.
    pub(super) fn reconnect(&mut self, host: usize) {
        let delay = self.random.u64(5..200);
        let at = &mut self.hosts[host];
        at.connection.is_open = false;
        let lifetime = at.lifetime;
        self.after(delay, WorldEvent::Connect { host, lifetime });
    }

    pub(super) fn connect(&mut self, host: usize, lifetime: u32) {
        if !self.runs(host, lifetime) || self.hosts[host].connection.is_open {
            return;
        }
        if self.hosts[host].is_cut || self.server_paused_until > self.time {
            return self.after(300, WorldEvent::Connect { host, lifetime });
        }
        let server = match &self.split {
            Some((server, hosts)) if hosts.contains(&host) => *server,
            _ => self.primary,
        };
        let at = &mut self.hosts[host];
        let number = at.connection.number + 1;
        at.connection = HostConnection { number, server, is_open: true, busy_until: [self.time; 2] };
        self.node(host, ClusterEvent::Connected);
    }

    /// Breaks connections: of all hosts to one server, or of one host.
    pub(super) fn break_connections(&mut self, is_broken: impl Fn(usize, &HostConnection) -> bool) {
        for host in 0..self.hosts.len() {
            let connection = self.hosts[host].connection;
            if connection.is_open && is_broken(host, &connection) {
                let delay = self.random.u64(1..50);
                let event = ClusterEvent::Disconnected;
                self.after(delay, WorldEvent::Deliver { host, connection: connection.number, event });
                self.waiting.retain(|_, read| read.host != host);
            }
        }
    }
}
