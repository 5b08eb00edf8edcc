//! The simulated world: hosts, servers, the network between them, virtual time, and one generator of random numbers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::faults::WorldFault;
use super::host::{CacheModel, DiskModel, HostClock, HostConnection, HostModel, PageKey};
use super::server::ServerModel;
use super::traffic::Traffic;
use crate::gate::PageGate;
use crate::node::bug::SeededBug;
use crate::node::{
    BatchNumber, ClockMs, ClusterCommand, ClusterEvent, CommandNumber, CommandReply, NodeTimings,
    PartitionPolicy, Readiness,
};
use crate::record::{ClusterSecret, EntryId, LogPosition, NodeName};

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
    /// A fetch of a page is complete.
    FetchEnds { host: usize, lifetime: u32, key: PageKey, page: FetchedPage },
    /// A node's deadline is reached.
    Tick { host: usize, lifetime: u32 },
    /// A visitor requests a page.
    Visit,
    /// A page changes and is purged.
    Change,
    /// A fault begins.
    Fault,
    /// A fault is removed.
    FaultEnds(FaultEnd),
    /// All faults are removed.
    Heal,
}

/// Page that a host has fetched.
#[derive(Clone, Copy)]
pub(super) struct FetchedPage {
    pub(super) version: u32,
    /// Start of the fetch on the clock of the host.
    pub(super) fetched_at: ClockMs,
    /// Position of the host at the start of the fetch; `None` if the page is not stored for other hosts.
    pub(super) position: Option<LogPosition>,
}

/// Page that a host has stored for the others.
#[derive(Clone, Copy)]
pub(super) struct SharedPage {
    pub(super) version: u32,
    pub(super) position: LogPosition,
}

/// Removal of a fault.
#[derive(Clone, Copy, Debug)]
pub(super) enum FaultEnd {
    Cut(usize),
    Slow(usize),
    Disk(usize),
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
    /// True once the sender has answered the purge; each purge must be answered once.
    pub(super) is_answered: bool,
}

/// Read that waits for entries.
pub(super) struct WaitingRead {
    pub(super) host: usize,
    pub(super) connection: HostConnection,
    pub(super) number: CommandNumber,
    pub(super) after: EntryId,
    pub(super) receipts_after: EntryId,
    pub(super) limit: usize,
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
    /// List of members in a backup of Valkey.
    pub(super) members_backup: BTreeMap<NodeName, Vec<u8>>,
    pub(super) waiting: BTreeMap<u64, WaitingRead>,
    pub(super) next_waiting: u64,
    pub(super) versions: [u32; PAGES as usize],
    /// Pages that hosts have stored for each other.
    pub(super) shared: BTreeMap<PageKey, SharedPage>,
    /// Number of pages of other hosts that were used.
    pub(super) shared_uses: u64,
    pub(super) purges: Vec<PurgeModel>,
    pub(super) policy: PartitionPolicy,
    pub(super) secret: ClusterSecret,
    pub(super) bug: Option<SeededBug>,
    pub(super) is_healed: bool,
    /// Intervals and limits of the nodes.
    pub(super) timings: NodeTimings,
    /// Number of bytes that are added to each purge, which otherwise has four.
    pub(super) padding: usize,
    /// Commands and bytes at Valkey.
    pub(super) traffic: Traffic,
    /// Kinds of faults that occur.
    pub(super) faults: Vec<WorldFault>,
    /// Number of purges that must be in effect on all hosts, and the newest such version of each page.
    pub(super) overdue_purges: usize,
    pub(super) overdue: [u32; PAGES as usize],
    pub(super) violation: Option<String>,
    /// True if the run is printed.
    pub(super) is_traced: bool,
}

impl World {
    pub(super) fn new(seed: u64, bug: Option<SeededBug>) -> Self {
        Self::with_hosts(seed, bug, None)
    }

    /// Creates a world with `hosts` hosts, or a random number of them.
    pub(super) fn with_hosts(seed: u64, bug: Option<SeededBug>, hosts: Option<usize>) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let cluster = NodeName::new("shop").expect("valid name");
        let policy = if random.u8(..4) == 0 {
            PartitionPolicy::Strict
        } else {
            PartitionPolicy::Serve { bound_ms: BOUND_MS }
        };
        let hosts = hosts.unwrap_or_else(|| random.usize(3..=5));
        let hosts = (0..hosts).map(|number| new_host(number, &mut random)).collect();
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
            members_backup: BTreeMap::new(),
            waiting: BTreeMap::new(),
            next_waiting: 0,
            versions: [0; PAGES as usize],
            shared: BTreeMap::new(),
            shared_uses: 0,
            purges: Vec::new(),
            policy,
            secret: ClusterSecret::new(&cluster, b"secret of the simulated cluster, 32 bytes")
                .expect("long enough"),
            bug,
            is_healed: false,
            timings: NodeTimings {
                remove_ms: 150_000,
                trim_ms: 60_000,
                max_log_records: 200,
                history_records: 64,
                ..NodeTimings::default()
            },
            padding: 0,
            traffic: Traffic::default(),
            faults: Vec::new(),
            overdue_purges: 0,
            overdue: [0; PAGES as usize],
            violation: None,
            is_traced: false,
        }
    }

    /// Adds an event that occurs in `delay` milliseconds.
    pub(super) fn after(&mut self, delay: u64, event: WorldEvent) {
        self.next_event += 1;
        self.queue.push(Reverse((self.time + delay, self.next_event)));
        self.events.insert(self.next_event, event);
    }

    /// Prints an event if the run is printed.
    pub(super) fn trace(&self, text: impl FnOnce() -> String) {
        if self.is_traced {
            println!("{:>7} {}", self.time, text());
        }
    }

    /// Notes that an invariant is violated.
    pub(super) fn fail(&mut self, text: &str) {
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
                self.execute(host, connection, number, &command);
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
                self.durable(host, lifetime, batch, &keys, at);
            }
            WorldEvent::OwnDurable { host, lifetime, purge, at } => {
                self.own_durable(host, lifetime, purge, at);
            }
            WorldEvent::Stored { host, lifetime, number, contents } => {
                if self.runs(host, lifetime) {
                    let is_stored = self.random.u8(..50) > 0 && self.hosts[host].can_store_position();
                    if is_stored {
                        self.hosts[host].disk.position = Some(contents);
                    }
                    self.node(host, ClusterEvent::PositionStored { number, is_stored });
                }
            }
            WorldEvent::FetchEnds { host, lifetime, key, page } => self.end_fetch(host, lifetime, key, page),
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
        gate: PageGate::default(),
        connection: HostConnection::default(),
        is_cut: false,
        is_slow: false,
        is_disk_full: false,
        has_room_for_position: false,
        paused_until: 0,
        tick_at: None,
        required: BTreeMap::new(),
        required_in_lifetime: BTreeMap::new(),
        unlisted_until: BTreeMap::new(),
        member_at: 0,
        is_stopping: false,
    }
}
