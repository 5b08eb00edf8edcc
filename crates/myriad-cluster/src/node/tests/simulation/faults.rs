//! Faults of hosts, of the network and of Valkey.

use super::server::ServerData;
use super::world::{FaultEnd, PAGES, World, WorldEvent};
use crate::node::{ClusterEvent, LogTail};
use crate::record::{EntryId, NodeName};

/// Kinds of faults. Each seed uses a part of them, because some hide the effects of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorldFault {
    Cut,
    Slow,
    Pause,
    Crash,
    Stop,
    BreakConnections,
    LoseEnd,
    LoseAll,
    Flush,
    Failover,
    Split,
    OutOfMemory,
    PauseServer,
    Trim,
    DeleteLog,
    Forge,
    SetServerClock,
    DeleteMembers,
    DiskFull,
    Forget,
    RestoreMembers,
    /// A page changes and is purged on one host while its zone does not belong to the cluster.
    Unannounced,
}

/// All kinds of faults.
pub(super) const FAULTS: [WorldFault; 22] = [
    WorldFault::Cut,
    WorldFault::Slow,
    WorldFault::Pause,
    WorldFault::Crash,
    WorldFault::Stop,
    WorldFault::BreakConnections,
    WorldFault::LoseEnd,
    WorldFault::LoseAll,
    WorldFault::Flush,
    WorldFault::Failover,
    WorldFault::Split,
    WorldFault::OutOfMemory,
    WorldFault::PauseServer,
    WorldFault::Trim,
    WorldFault::DeleteLog,
    WorldFault::Forge,
    WorldFault::SetServerClock,
    WorldFault::DeleteMembers,
    WorldFault::DiskFull,
    WorldFault::Forget,
    WorldFault::RestoreMembers,
    WorldFault::Unannounced,
];

impl World {
    /// Begins a random fault.
    pub(super) fn fault(&mut self) {
        if self.is_healed {
            return;
        }
        let delay = self.random.u64(200..7000);
        self.after(delay, WorldEvent::Fault);
        let fault = self.faults[self.random.usize(..self.faults.len())];
        let host = self.random.usize(..self.hosts.len());
        self.trace(|| format!("fault {fault:?} (host {host})"));
        let existing = self.existing_purges();
        match fault {
            WorldFault::Cut => {
                self.hosts[host].is_cut = true;
                let delay = self.random.u64(500..40_000);
                self.after(delay, WorldEvent::FaultEnds(FaultEnd::Cut(host)));
            }
            WorldFault::Slow => {
                self.hosts[host].is_slow = true;
                let delay = self.random.u64(500..10_000);
                self.after(delay, WorldEvent::FaultEnds(FaultEnd::Slow(host)));
            }
            WorldFault::Pause => self.hosts[host].paused_until = self.time + self.random.u64(500..30_000),
            WorldFault::Crash => self.crash(host),
            WorldFault::Stop => self.stop(host),
            WorldFault::BreakConnections => {
                self.break_connections(|at, _| at == host);
            }
            WorldFault::OutOfMemory => {
                let primary = self.primary;
                self.servers[primary].is_out_of_memory = true;
                let delay = self.random.u64(500..10_000);
                self.after(delay, WorldEvent::FaultEnds(FaultEnd::Memory));
            }
            WorldFault::DiskFull => {
                self.hosts[host].is_disk_full = true;
                self.hosts[host].has_room_for_position = self.random.bool();
                let delay = self.random.u64(500..30_000);
                self.after(delay, WorldEvent::FaultEnds(FaultEnd::Disk(host)));
                let key = self.random.u8(..PAGES);
                self.change_page(host, key);
            }
            WorldFault::Forget => {
                let forgotten = self.random.usize(..self.hosts.len());
                let name = self.hosts[forgotten].name.clone();
                self.node(host, ClusterEvent::Forget(name));
            }
            WorldFault::Unannounced => {
                let key = self.random.u8(..PAGES);
                self.purge_outside_cluster(host, key);
            }
            WorldFault::PauseServer => self.server_paused_until = self.time + self.random.u64(500..8000),
            WorldFault::SetServerClock => self.server_clock_offset = self.random.u64(..2_000_000),
            _ => self.server_fault(fault),
        }
        self.note_losses(&existing);
    }

    /// Begins a fault that destroys data of Valkey.
    pub(super) fn server_fault(&mut self, fault: WorldFault) {
        let primary = self.primary;
        let lag = if self.random.bool() { self.random.u64(..50) } else { self.random.u64(..4000) };
        let end = self.time.saturating_sub(lag);
        match fault {
            WorldFault::LoseEnd => {
                self.servers[primary].replicate(end);
                self.servers[primary].lose_unreplicated();
                self.break_connections(|_, connection| connection.server == primary);
            }
            WorldFault::LoseAll => {
                self.servers[primary].replace(ServerData::default());
                self.break_connections(|_, connection| connection.server == primary);
            }
            WorldFault::Flush => self.servers[primary].replace(ServerData::default()),
            WorldFault::Failover | WorldFault::Split => self.fail_over(end, fault == WorldFault::Split),
            WorldFault::Trim => {
                let keep = self.random.usize(..5);
                self.servers[primary].data.log.keep(keep);
            }
            WorldFault::DeleteLog => {
                let mut data = self.servers[primary].data.clone();
                data.log = super::server::StreamModel::default();
                self.servers[primary].replace(data);
            }
            WorldFault::DeleteMembers => {
                let mut data = self.servers[primary].data.clone();
                data.members.clear();
                self.servers[primary].replace(data);
            }
            WorldFault::RestoreMembers => {
                let mut data = self.servers[primary].data.clone();
                std::mem::swap(&mut data.members, &mut self.members_backup);
                self.servers[primary].replace(data);
            }
            WorldFault::Forge => self.forge(),
            _ => {}
        }
    }

    /// Makes the replica the primary. In a split, some hosts continue to use the old primary for a time.
    fn fail_over(&mut self, end: u64, is_split: bool) {
        if self.split.is_some() {
            return;
        }
        let (old, new) = (self.primary, 1 - self.primary);
        self.servers[old].replicate(end);
        let mut promoted = self.servers[old].clone();
        promoted.lose_unreplicated();
        promoted.is_out_of_memory = false;
        self.servers[new] = promoted;
        self.primary = new;
        if is_split {
            let hosts: Vec<usize> = (0..self.hosts.len()).filter(|_| self.random.bool()).collect();
            self.break_connections(|host, _| !hosts.contains(&host));
            self.split = Some((old, hosts));
            let delay = self.random.u64(1000..30_000);
            self.after(delay, WorldEvent::FaultEnds(FaultEnd::Split));
        } else if self.random.bool() {
            self.break_connections(|_, _| true);
        }
        // Otherwise connections to the old primary remain; it is a replica now and refuses writes.
    }

    /// Writes values without the secret: changed, moved and invented ones.
    fn forge(&mut self) {
        let primary = self.primary;
        let log = &self.servers[primary].data.log;
        let newest = log.last_id;
        let values: Vec<Vec<u8>> = log.entries.values().map(|value| value.to_vec()).collect();
        let mut value = match self.random.usize(..=values.len()) {
            0 => (0..self.random.usize(..100)).map(|_| self.random.u8(..)).collect(),
            number => values[number - 1].clone(),
        };
        let id = EntryId { epoch: newest.epoch, number: newest.number + self.random.u64(1..4) };
        match self.random.u8(..4) {
            0 => self.servers[primary].data.log.insert(id, value.into()),
            1 | 2 if value.len() > 150 => {
                // The newest record, with the ID and the predecessor that the next record will have, and another purge.
                if let Some((last, record)) = self.servers[primary].data.log.entries.last_key_value() {
                    value[..8].copy_from_slice(&id.epoch.to_le_bytes());
                    value[8..16].copy_from_slice(&id.number.to_le_bytes());
                    value[16..24].copy_from_slice(&last.epoch.to_le_bytes());
                    value[24..32].copy_from_slice(&last.number.to_le_bytes());
                    let end = LogTail::of(*last, record).end;
                    value[32..32 + end.len()].copy_from_slice(&end);
                    let body = value.len() - 36;
                    value[body..body + 4].copy_from_slice(&u32::MAX.to_le_bytes());
                    self.servers[primary].data.log.insert(id, value.into());
                }
            }
            _ => {
                let names: Vec<NodeName> = self.hosts.iter().map(|host| host.name.clone()).collect();
                let members = &mut self.servers[primary].data.members;
                let from = members.values().next().cloned().unwrap_or_default();
                let to = names[self.random.usize(..names.len())].clone();
                if !from.is_empty() && self.random.bool() {
                    members.insert(to, from);
                } else if let Some(value) = members.get_mut(&to) {
                    let at = self.random.usize(..value.len());
                    value[at] ^= 1 << self.random.u8(..8);
                }
            }
        }
        self.wake_reads();
    }

    /// Kills the process of a host. The process starts again later, sometimes without its disk.
    fn crash(&mut self, host: usize) {
        if self.hosts[host].node.take().is_none() {
            return;
        }
        let at = &mut self.hosts[host];
        at.connection.is_open = false;
        at.paused_until = 0;
        match self.random.u8(..20) {
            0..3 => {
                at.disk = super::host::DiskModel::default();
            }
            3 => at.disk.position = None,
            _ => {}
        }
        let delay = self.random.u64(10..15_000);
        self.after(delay, WorldEvent::FaultEnds(FaultEnd::Restart(host)));
    }

    /// Stops the process of a host.
    fn stop(&mut self, host: usize) {
        if self.hosts[host].node.is_none()
            || self.hosts[host].is_stopping
            || self.hosts[host].paused_until > self.time
        {
            return;
        }
        self.hosts[host].is_stopping = true;
        let is_leaving = self.random.bool();
        self.node(host, ClusterEvent::Shutdown { is_leaving });
    }

    /// Removes a fault.
    pub(super) fn end_fault(&mut self, end: FaultEnd) {
        self.trace(|| format!("{end:?}"));
        let existing = self.existing_purges();
        match end {
            FaultEnd::Cut(host) => self.hosts[host].is_cut = false,
            FaultEnd::Slow(host) => self.hosts[host].is_slow = false,
            FaultEnd::Disk(host) => {
                // Half of all processes terminate before they can save what the full disk refused.
                if self.hosts[host].is_disk_full && !self.is_healed && self.random.bool() {
                    self.crash(host);
                }
                self.hosts[host].is_disk_full = false;
            }
            FaultEnd::Memory => self.servers.iter_mut().for_each(|server| server.is_out_of_memory = false),
            FaultEnd::Split => {
                if let Some((old, _)) = self.split.take()
                    && self.random.bool()
                {
                    self.break_connections(|_, connection| connection.server == old);
                }
            }
            FaultEnd::Restart(host) => self.start(host),
            FaultEnd::Stopped(host, lifetime) => {
                if self.runs(host, lifetime) {
                    self.hosts[host].node = None;
                    self.hosts[host].connection.is_open = false;
                    let delay = if self.random.bool() { 10 } else { self.random.u64(..15_000) };
                    self.after(delay, WorldEvent::FaultEnds(FaultEnd::Restart(host)));
                }
            }
        }
        self.note_losses(&existing);
    }

    /// Removes all faults.
    pub(super) fn heal(&mut self) {
        self.is_healed = true;
        self.server_paused_until = 0;
        self.end_fault(FaultEnd::Memory);
        self.end_fault(FaultEnd::Split);
        for host in 0..self.hosts.len() {
            self.end_fault(FaultEnd::Cut(host));
            self.end_fault(FaultEnd::Slow(host));
            self.end_fault(FaultEnd::Disk(host));
            self.hosts[host].paused_until = self.hosts[host].paused_until.min(self.time + 1);
            if self.hosts[host].node.is_none() {
                self.start(host);
            }
        }
    }
}
