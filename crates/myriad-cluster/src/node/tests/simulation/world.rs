//! The simulated world: hosts, servers, the network between them, virtual time, and one generator of random numbers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::faults::WorldFault;
use super::host::{CacheModel, DiskModel, HostClock, HostConnection, HostModel, PageKey};
use super::server::{Execution, ServerModel};
use crate::node::bug::SeededBug;
use crate::node::{
    BatchNumber, ClockMs, ClusterAction, ClusterCommand, ClusterEvent, ClusterNode, CommandError,
    CommandNumber, CommandReply, NodeSettings, NodeStart, NodeTimings, PartitionPolicy, PurgeAnswer,
    PurgeTicket, Readiness,
};
use crate::record::{ClusterSecret, EntryId, NodeName, StartId};

/// Number of pages of the site.
pub(super) const PAGES: PageKey = 4;
/// Bound of `partition=serve` in the simulation, in milliseconds.
pub(super) const BOUND_MS: u64 = 20_000;
/// Time after the bound in which a purge must be in effect: detection of losses, and updates of the age limit.
pub(super) const SLACK_MS: u64 = 8000;

/// Event of the world.
#[derive(Clone)]
pub(super) enum WorldEvent {
    /// A command arrives at a server.
    Execute { host: usize, connection: HostConnection, number: CommandNumber, command: ClusterCommand },
    /// A read that waits gets an empty reply.
    ReadExpires { waiter: u64 },
    /// A reply or a loss of the connection arrives at a host.
    Deliver { host: usize, connection: u64, event: ClusterEvent },
    /// A host tries to connect.
    Connect { host: usize, lifetime: u32 },
    /// Purges take effect in a cache; an empty list is a purge of everything.
    Effect { host: usize, lifetime: u32, batch: BatchNumber, keys: Vec<PageKey> },
    /// Purges that took effect at `at` become durable.
    Durable { host: usize, lifetime: u32, batch: BatchNumber, keys: Vec<PageKey>, at: ClockMs },
    /// An own purge becomes durable.
    OwnDurable { host: usize, lifetime: u32, purge: usize, at: ClockMs },
    /// The position file is written.
    Stored { host: usize, lifetime: u32, number: BatchNumber, contents: Vec<u8> },
    /// A fetch of a page ends.
    FetchEnds { host: usize, lifetime: u32, key: PageKey, version: u32, fetched_at: ClockMs },
    /// A node's deadline is reached.
    Tick { host: usize, lifetime: u32 },
    /// A visitor requests a page.
    Visit,
    /// A page changes and is purged.
    Change,
    /// A fault begins.
    Fault,
    /// A fault ends.
    FaultEnds(FaultEnd),
    /// All faults end.
    Heal,
}

/// End of a fault.
#[derive(Clone, Copy)]
pub(super) enum FaultEnd {
    Cut(usize),
    Slow(usize),
    Memory,
    Split,
    Restart(usize),
    Stopped(usize, u32),
}

/// Purge that a client requested.
pub(super) struct PurgeModel {
    pub(super) key: PageKey,
    pub(super) version: u32,
    pub(super) time: u64,
    pub(super) sender: usize,
    pub(super) lifetime: u32,
    /// True once every copy of the purge was destroyed by faults.
    pub(super) is_lost: bool,
    /// True once the purge can no longer be violated.
    pub(super) is_answered: bool,
}

/// Read that waits for entries.
pub(super) struct WaitingRead {
    host: usize,
    connection: HostConnection,
    number: CommandNumber,
    after: EntryId,
    receipts_after: EntryId,
    limit: usize,
}

/// The world.
pub(super) struct World {
    pub(super) time: u64,
    pub(super) random: fastrand::Rng,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, WorldEvent>,
    next_event: u64,
    pub(super) hosts: Vec<HostModel>,
    pub(super) servers: Vec<ServerModel>,
    pub(super) primary: usize,
    /// Hosts that still use the primary before the last failover.
    pub(super) split: Option<(usize, Vec<usize>)>,
    pub(super) server_paused_until: u64,
    pub(super) server_clock_offset: u64,
    waiting: BTreeMap<u64, WaitingRead>,
    next_waiting: u64,
    pub(super) versions: [u32; PAGES as usize],
    pub(super) purges: Vec<PurgeModel>,
    pub(super) policy: PartitionPolicy,
    pub(super) secret: ClusterSecret,
    pub(super) bug: Option<SeededBug>,
    pub(super) is_healed: bool,
    /// Kinds of faults that occur.
    pub(super) faults: Vec<WorldFault>,
    /// Number of purges that must be in effect on all hosts, and the newest such version of each page.
    pub(super) overdue_purges: usize,
    pub(super) overdue: [u32; PAGES as usize],
    pub(super) violation: Option<String>,
}

impl World {
    pub(super) fn new(seed: u64, bug: Option<SeededBug>) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let cluster = NodeName::new("shop").expect("valid name");
        let policy = if random.u8(..4) == 0 {
            PartitionPolicy::Strict
        } else {
            PartitionPolicy::Serve { bound_ms: BOUND_MS }
        };
        let hosts = (0..random.usize(3..=5)).map(|number| new_host(number, &mut random)).collect();
        Self {
            time: 1000,
            random,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            next_event: 0,
            hosts,
            servers: vec![ServerModel::default(), ServerModel::default()],
            primary: 0,
            split: None,
            server_paused_until: 0,
            server_clock_offset: 1_000_000,
            waiting: BTreeMap::new(),
            next_waiting: 0,
            versions: [0; PAGES as usize],
            purges: Vec::new(),
            policy,
            secret: ClusterSecret::new(&cluster, b"secret of the simulated cluster").expect("long enough"),
            bug,
            is_healed: false,
            faults: Vec::new(),
            overdue_purges: 0,
            overdue: [0; PAGES as usize],
            violation: None,
        }
    }

    /// Adds an event that occurs in `delay` milliseconds.
    pub(super) fn after(&mut self, delay: u64, event: WorldEvent) {
        self.next_event += 1;
        self.queue.push(Reverse((self.time + delay, self.next_event)));
        self.events.insert(self.next_event, event);
    }

    /// Notes that an invariant is violated.
    pub(super) fn fail(&mut self, text: String) {
        if self.violation.is_none() {
            self.violation = Some(format!("at {} ms: {text}", self.time));
        }
    }

    /// Runs until the time `end`, or until an invariant is violated.
    pub(super) fn run_until(&mut self, end: u64) {
        while self.violation.is_none()
            && let Some(&Reverse((time, number))) = self.queue.peek()
            && time <= end
        {
            self.queue.pop();
            self.time = self.time.max(time);
            if let Some(event) = self.events.remove(&number) {
                self.handle(event);
                self.check_hits();
            }
        }
        self.time = self.time.max(end);
    }

    fn handle(&mut self, event: WorldEvent) {
        // A suspended process handles events when it continues, its own timers first.
        if let Some(host) = event.host()
            && self.hosts[host].paused_until > self.time
        {
            let is_timer = matches!(event, WorldEvent::Tick { .. });
            let delay = self.hosts[host].paused_until - self.time + u64::from(!is_timer);
            return self.after(delay, event);
        }
        match event {
            WorldEvent::Execute { host, connection, number, command } => {
                self.execute(host, connection, number, command)
            }
            WorldEvent::ReadExpires { waiter } => {
                if let Some(read) = self.waiting.remove(&waiter) {
                    let reply = CommandReply::Read { entries: Vec::new(), receipts: Vec::new() };
                    self.reply(read.host, read.connection, read.number, reply);
                }
            }
            WorldEvent::Deliver { host, connection, event } => {
                let at = &self.hosts[host];
                if at.connection.number == connection && at.connection.is_open && !at.is_cut {
                    let is_loss = event == ClusterEvent::Disconnected;
                    self.node(host, event);
                    if is_loss {
                        self.reconnect(host);
                    }
                }
            }
            WorldEvent::Connect { host, lifetime } => self.connect(host, lifetime),
            WorldEvent::Effect { host, lifetime, batch, keys } => self.effect(host, lifetime, batch, keys),
            WorldEvent::Durable { host, lifetime, batch, keys, at } => {
                if self.runs(host, lifetime) {
                    let disk = &mut self.hosts[host].disk;
                    if keys.is_empty() {
                        disk.purge(None, lifetime, at);
                    }
                    keys.iter().for_each(|&key| disk.purge(Some(key), lifetime, at));
                    self.node(host, ClusterEvent::Applied(batch));
                }
            }
            WorldEvent::OwnDurable { host, lifetime, purge, at } => {
                self.own_durable(host, lifetime, purge, at)
            }
            WorldEvent::Stored { host, lifetime, number, contents } => {
                if self.runs(host, lifetime) {
                    let is_stored = self.random.u8(..50) > 0;
                    if is_stored {
                        self.hosts[host].disk.position = Some(contents);
                    }
                    self.node(host, ClusterEvent::PositionStored { number, is_stored });
                }
            }
            WorldEvent::FetchEnds { host, lifetime, key, version, fetched_at } => {
                if self.runs(host, lifetime) && self.hosts[host].cache.store(key, version, fetched_at) {
                    if self.random.u8(..10) < 8 {
                        self.hosts[host].disk.store(key, version, lifetime, fetched_at);
                    }
                }
            }
            WorldEvent::Tick { host, lifetime } => {
                if self.runs(host, lifetime) {
                    self.hosts[host].tick_at = None;
                    self.node(host, ClusterEvent::Tick);
                }
            }
            WorldEvent::Visit => self.visit(),
            WorldEvent::Change => self.change(),
            WorldEvent::Fault => self.fault(),
            WorldEvent::FaultEnds(end) => self.end_fault(end),
            WorldEvent::Heal => self.heal(),
        }
    }

    /// Returns true if this lifetime of the host runs.
    pub(super) fn runs(&self, host: usize, lifetime: u32) -> bool {
        self.hosts[host].node.is_some() && self.hosts[host].lifetime == lifetime
    }

    /// Starts the process of a host.
    pub(super) fn start(&mut self, host: usize) {
        if self.hosts[host].node.is_some() {
            return;
        }
        let seed = self.random.u64(..);
        let settings = NodeSettings {
            node: self.hosts[host].name.clone(),
            secret: self.secret.clone(),
            partition: self.policy,
            address: format!("10.0.0.{host}"),
            software: "simulation".to_owned(),
            timings: NodeTimings {
                remove_ms: 150_000,
                trim_ms: 60_000,
                max_log_records: 200,
                history_records: 64,
                ..NodeTimings::default()
            },
        };
        let at = &mut self.hosts[host];
        at.lifetime += 1;
        at.cache = at.disk.load();
        at.tick_at = None;
        at.is_stopping = false;
        at.required_in_lifetime.clear();
        let mut start = [0; 16];
        start[0] = host as u8;
        start[1..5].copy_from_slice(&at.lifetime.to_le_bytes());
        let now = at.clock.at(self.time);
        let node_start = NodeStart {
            start: StartId(start),
            boot: [host as u8; 16],
            stored: at.disk.position.clone(),
            has_pages: !at.cache.pages.is_empty(),
            seed,
        };
        let mut node = ClusterNode::new(settings, node_start, now);
        node.bug = self.bug;
        at.readiness = Readiness::StaleBefore(now);
        at.node = Some(node);
        at.connection.is_open = false;
        let lifetime = at.lifetime;
        self.after(1, WorldEvent::Connect { host, lifetime });
        self.node(host, ClusterEvent::Tick);
    }

    /// Passes an event to a node and executes its actions.
    pub(super) fn node(&mut self, host: usize, event: ClusterEvent) {
        let time = self.time;
        let at = &mut self.hosts[host];
        let now = at.clock.at(time);
        let Some(node) = &mut at.node else { return };
        node.handle(event, now);
        let mut actions = Vec::new();
        while let Some(action) = node.next_action() {
            actions.push(action);
        }
        let deadline = node.next_deadline();
        for action in actions {
            self.act(host, action);
        }
        let at = &mut self.hosts[host];
        if let Some(deadline) = deadline {
            let due = at.clock.when(deadline).max(time + 1);
            if at.tick_at.is_none_or(|tick_at| due < tick_at) {
                at.tick_at = Some(due);
                let lifetime = at.lifetime;
                self.after(due - time, WorldEvent::Tick { host, lifetime });
            }
        }
    }

    fn act(&mut self, host: usize, action: ClusterAction) {
        let lifetime = self.hosts[host].lifetime;
        match action {
            ClusterAction::Send { command, what } => self.send(host, command, what),
            ClusterAction::Reconnect(_) => self.reconnect(host),
            ClusterAction::Apply { batch, purges } => {
                let mut keys = Vec::new();
                for purge in purges {
                    let number = purge.body.as_slice().try_into().map(u32::from_le_bytes);
                    match number.ok().and_then(|number| self.purges.get(number as usize)) {
                        Some(known) if purge.zone == "pages" => keys.push(known.key),
                        _ => self.fail(format!("host {host} applied a purge that no client requested")),
                    }
                }
                let delay = self.random.u64(1..20);
                self.after(delay, WorldEvent::Effect { host, lifetime, batch, keys });
            }
            ClusterAction::ExpireEverything { batch, .. } => {
                let delay = self.random.u64(1..50);
                self.after(delay, WorldEvent::Effect { host, lifetime, batch, keys: Vec::new() });
            }
            ClusterAction::SetReadiness(readiness) => self.hosts[host].readiness = readiness,
            ClusterAction::Answer { ticket, answer } => self.answer(ticket, &answer),
            ClusterAction::StorePosition { number, contents } => {
                let delay = self.random.u64(1..200);
                self.after(delay, WorldEvent::Stored { host, lifetime, number, contents });
            }
            ClusterAction::Log(_) => {}
            ClusterAction::Stopped => self.after(0, WorldEvent::FaultEnds(FaultEnd::Stopped(host, lifetime))),
        }
    }

    fn effect(&mut self, host: usize, lifetime: u32, batch: BatchNumber, keys: Vec<PageKey>) {
        if !self.runs(host, lifetime) {
            return;
        }
        let at = &mut self.hosts[host];
        let now = at.clock.at(self.time);
        if keys.is_empty() {
            at.cache.expire(now);
        }
        keys.iter().for_each(|&key| at.cache.purge(key, now));
        let delay = self.random.u64(1..100);
        self.after(delay, WorldEvent::Durable { host, lifetime, batch, keys, at: now });
    }

    fn own_durable(&mut self, host: usize, lifetime: u32, purge: usize, at: ClockMs) {
        if self.runs(host, lifetime) {
            let PurgeModel { key, version, .. } = self.purges[purge];
            self.hosts[host].disk.purge(Some(key), lifetime, at);
            self.require(host, key, version);
            self.node(host, ClusterEvent::PurgeDurable(PurgeTicket(purge as u64)));
        }
    }

    fn require(&mut self, host: usize, key: PageKey, version: u32) {
        let required = self.hosts[host].required.entry(key).or_default();
        *required = version.max(*required);
    }

    fn answer(&mut self, ticket: PurgeTicket, answer: &PurgeAnswer) {
        let purge = &mut self.purges[ticket.0 as usize];
        if purge.is_answered {
            return self.fail(format!("purge {} was answered twice", ticket.0));
        }
        purge.is_answered = true;
        let (key, version) = (purge.key, purge.version);
        let hosts: Vec<usize> =
            (0..self.hosts.len()).filter(|&host| answer.applied.contains(&self.hosts[host].name)).collect();
        for host in hosts {
            self.require(host, key, version);
        }
    }

    fn visit(&mut self) {
        let delay = self.random.u64(1..400);
        self.after(delay, WorldEvent::Visit);
        let host = self.random.usize(..self.hosts.len());
        let key = self.random.u8(..PAGES);
        let at = &self.hosts[host];
        if at.node.is_none() || at.paused_until > self.time || at.cache.hit(key, at.readiness).is_some() {
            return;
        }
        let (lifetime, fetched_at) = (at.lifetime, at.clock.at(self.time));
        let version = self.versions[usize::from(key)];
        let delay = if self.random.bool() { self.random.u64(1..50) } else { self.random.u64(1..3000) };
        self.after(delay, WorldEvent::FetchEnds { host, lifetime, key, version, fetched_at });
    }

    fn change(&mut self) {
        if !self.is_healed {
            let delay = if self.random.bool() { self.random.u64(..20) } else { self.random.u64(..3000) };
            self.after(delay, WorldEvent::Change);
        }
        let host = self.random.usize(..self.hosts.len());
        let key = self.random.u8(..PAGES);
        let at = &mut self.hosts[host];
        if at.node.is_none() || at.paused_until > self.time || at.is_stopping {
            return;
        }
        self.versions[usize::from(key)] += 1;
        let version = self.versions[usize::from(key)];
        let now = at.clock.at(self.time);
        at.cache.purge(key, now);
        at.required_in_lifetime.insert(key, version);
        let (lifetime, number) = (at.lifetime, self.purges.len());
        self.purges.push(PurgeModel {
            key,
            version,
            time: self.time,
            sender: host,
            lifetime,
            is_lost: false,
            is_answered: false,
        });
        let delay = self.random.u64(1..100);
        self.after(delay, WorldEvent::OwnDurable { host, lifetime, purge: number, at: now });
        let event = ClusterEvent::Purge {
            ticket: PurgeTicket(number as u64),
            zone: "pages".to_owned(),
            body: (number as u32).to_le_bytes().to_vec(),
            wait_ms: self.random.u64(..3000),
        };
        self.node(host, event);
    }

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
    fn send(&mut self, host: usize, number: CommandNumber, command: ClusterCommand) {
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

    fn execute(
        &mut self,
        host: usize,
        connection: HostConnection,
        number: CommandNumber,
        command: ClusterCommand,
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
        let clock = self.time + self.server_clock_offset;
        let name = self.hosts[host].name.clone();
        match self.servers[server].execute(&name, &command, self.time, clock) {
            Execution::Reply(reply) => {
                self.reply(host, connection, number, reply);
                if is_write {
                    self.wake_reads();
                }
            }
            Execution::Waits => {
                if let ClusterCommand::Read { after, receipts_after, limit, wait_ms } = command {
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

    fn reply(&mut self, host: usize, connection: HostConnection, number: CommandNumber, reply: CommandReply) {
        let delay = self.delay(host);
        let event = ClusterEvent::Reply { command: number, reply };
        self.after(delay, WorldEvent::Deliver { host, connection: connection.number, event });
    }

    /// Closes the connection of a host, which then tries to connect.
    fn reconnect(&mut self, host: usize) {
        let delay = self.random.u64(5..200);
        let at = &mut self.hosts[host];
        at.connection.is_open = false;
        let lifetime = at.lifetime;
        self.after(delay, WorldEvent::Connect { host, lifetime });
    }

    fn connect(&mut self, host: usize, lifetime: u32) {
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

impl WorldEvent {
    /// Host whose process handles the event.
    fn host(&self) -> Option<usize> {
        match self {
            Self::Deliver { host, .. }
            | Self::Connect { host, .. }
            | Self::Effect { host, .. }
            | Self::Durable { host, .. }
            | Self::OwnDurable { host, .. }
            | Self::Stored { host, .. }
            | Self::FetchEnds { host, .. }
            | Self::Tick { host, .. } => Some(*host),
            _ => None,
        }
    }
}

fn new_host(number: usize, random: &mut fastrand::Rng) -> HostModel {
    HostModel {
        name: NodeName::new(&format!("web{number}")).expect("valid name"),
        node: None,
        lifetime: 0,
        clock: HostClock { offset: random.u64(..1_000_000), rate: random.u64(980..=1020) },
        cache: CacheModel::default(),
        disk: DiskModel::default(),
        readiness: Readiness::StaleBefore(0),
        connection: HostConnection::default(),
        is_cut: false,
        is_slow: false,
        paused_until: 0,
        tick_at: None,
        required: BTreeMap::new(),
        required_in_lifetime: BTreeMap::new(),
        member_at: 0,
        is_stopping: false,
    }
}
