//! Current peers of a group: those of fixed addresses, and a changing list for each name that is resolved at run time.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use md5::{Digest, Md5};
use myriad_conf::model::Balance;
use tokio::sync::Notify;

use crate::balance::Weights;
use crate::config::{GroupConfig, GroupZone, NamedServer, PeerConfig};
use crate::edited_servers::{EditError, EditedServers};
use crate::health::CheckRules;
use crate::peer::PeerState;
use crate::peer_states::{LastResolution, PeerStates};
use crate::peers::Peers;
use crate::resolved_server::ResolvedServer;
use crate::resolver::ResolverConfig;
use crate::ring::Ring;
use crate::servers::GroupServer;
use crate::wait_queue::WaitQueue;

/// Maximum number of peers that a server's name resolves to; further addresses of a result are ignored.
const MAX_ADDRESSES: usize = 512;

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// Peers of a group and their changes at run time. All workers share it.
#[derive(Debug)]
pub(crate) struct Roster {
    group: String,
    pub(crate) balance: Balance,
    sticky: bool,
    /// Servers of the group when the configuration was loaded: its `server` directives, or the contents of its `state`
    /// file.
    configured: Vec<GroupServer>,
    /// Zone that allows administrators to add and remove servers; `None` without `zone`.
    pub(crate) zone: Option<GroupZone>,
    /// Resolver of server names, with its timeout in milliseconds; `None` without `resolver`, and for a group that has
    /// neither a name to resolve nor a `zone`.
    pub(crate) resolver: Option<(Arc<ResolverConfig>, u64)>,
    /// Notified when servers with names may have been added, and when the roster is dropped.
    pub(crate) names_changed: Arc<Notify>,
    /// Maximum number of requests in the queue; `None` without `queue`.
    pub(crate) queue_limit: Option<u32>,
    /// Servers edited by administrators; after a reload, the group of the same name starts with them, unless its
    /// configured servers have changed.
    pub(crate) edited: Arc<EditedServers>,
    /// Number of the roster, which increases with each group that is created, so that newer configurations have higher
    /// numbers.
    pub(crate) number: u64,
    /// Health checks of the peers; unset before a worker has started with this configuration.
    checks: OnceLock<Vec<CheckRules>>,
    states: PeerStates,
    /// Queue woken when peers become available; `None` without `queue`.
    pub(crate) wait_queue: Option<WaitQueue>,
    /// True if a worker already resolves the server names.
    is_resolving: AtomicBool,
    /// Identifiers of the initial servers whose names have not been resolved yet and have no addresses from before a
    /// reload; servers added at run time are not included.
    awaited: Mutex<HashSet<u64>>,
    state: Mutex<RosterState>,
}

/// Current peers, with the state of the balancing algorithm.
#[derive(Debug)]
pub(crate) struct RosterState {
    pub(crate) peers: Arc<Peers>,
    pub(crate) weights: Weights,
    pub(crate) servers: Vec<RosterServer>,
    /// Next identifier for a server, or for a peer that a name resolves to.
    next_id: u64,
    /// Identifiers in the group of the peers that names resolve to, by the identifiers of their states.
    ids: HashMap<u64, u64>,
    /// Removed peers that had active requests when they were removed.
    leaving: Vec<Weak<PeerState>>,
}

/// Current server of the group.
#[derive(Clone, Debug)]
pub(crate) struct RosterServer {
    /// Identifier of the server in its group, not reused until a reload changes the configured servers.
    pub(crate) id: u64,
    pub(crate) server: GroupServer,
    /// Addresses to which the server's name resolves now, and the shared result that provides the initial addresses
    /// after a reload; `None` for a server with an address.
    named: Option<(Vec<ResolvedServer>, Arc<LastResolution>)>,
}

impl Roster {
    /// Creates the peers of a group; their state comes from `states`. `line` is the queue of the group, if any.
    pub(crate) fn new(config: &GroupConfig, states: &PeerStates, line: Option<WaitQueue>) -> Self {
        let names = config.names.iter().flat_map(|names| &names.servers);
        let fixed = config.peers.iter().cloned().map(GroupServer::Fixed);
        let configured: Vec<_> = fixed.chain(names.cloned().map(GroupServer::Named)).collect();
        let edited = states.edited(&config.name);
        let (numbered, next_id) = edited.initial_servers(&configured, config.zone.is_some());
        let of_zone = config.zone.as_ref().and_then(|zone| zone.resolver.clone());
        let of_names = config.names.as_ref().map(|names| (Arc::clone(&names.resolver), names.timeout_ms));
        let empty = Arc::new(Peers::default());
        let roster = Self {
            group: config.name.clone(),
            balance: config.balance,
            sticky: config.sticky,
            configured,
            zone: config.zone.clone(),
            resolver: of_names.or(of_zone),
            names_changed: Arc::default(),
            queue_limit: config.queue.map(|queue| queue.max),
            edited,
            number: NEXT_NUMBER.fetch_add(1, Relaxed),
            states: states.clone(),
            wait_queue: line,
            checks: OnceLock::new(),
            is_resolving: AtomicBool::new(false),
            awaited: Mutex::default(),
            state: Mutex::new(RosterState {
                peers: empty,
                weights: Weights::new(&[]),
                servers: Vec::new(),
                next_id,
                ids: HashMap::new(),
                leaving: Vec::new(),
            }),
        };
        let entries: Vec<_> = numbered.into_iter().map(|(id, server)| roster.entry(id, server)).collect();
        let awaits =
            |entry: &&RosterServer| entry.named.as_ref().is_some_and(|(members, _)| members.is_empty());
        roster.awaited().extend(entries.iter().filter(awaits).map(|entry| entry.id));
        roster.rebuild(entries);
        roster
    }

    fn entry(&self, id: u64, server: GroupServer) -> RosterServer {
        let named = match &server {
            GroupServer::Fixed(_) => None,
            GroupServer::Named(named) => {
                let known = self.states.last_resolution(&self.group, &named.host);
                Some((known.members(), known))
            }
        };
        RosterServer { id, server, named }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RosterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current list of peers.
    pub(crate) fn peers(&self) -> Arc<Peers> {
        Arc::clone(&self.lock().peers)
    }

    /// Returns the name of the group.
    pub(crate) fn name(&self) -> &str {
        &self.group
    }

    /// Wakes the first request in the queue, because a peer may have become available.
    pub(crate) fn wake(&self) {
        if let Some(line) = &self.wait_queue {
            line.wake_first();
        }
    }

    /// Sets the health checks, unless they are already set. Returns whether the caller must run the checks: this is the
    /// first call, and `rules` is not empty.
    pub(crate) fn begin_checks(&self, rules: &[CheckRules]) -> bool {
        let mut is_first = false;
        // Other workers block here, so that they use no peer before its health is initialized.
        let rules = self.checks.get_or_init(|| {
            is_first = true;
            for state in &self.peers().states {
                state.health.take_over(self.number, rules);
            }
            rules.to_vec()
        });
        is_first && !rules.is_empty()
    }

    /// Returns whether the caller must resolve the server names: true for the first call if there is a resolver,
    /// otherwise false.
    pub(crate) fn begin_resolving(&self) -> bool {
        self.resolver.is_some() && !self.is_resolving.swap(true, Relaxed)
    }

    fn awaited(&self) -> MutexGuard<'_, HashSet<u64>> {
        self.awaited.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether any of the initial servers may still get its first address, because its name has not been
    /// resolved yet.
    pub(crate) fn awaits_names(&self) -> bool {
        !self.awaited().is_empty()
    }

    /// Records that the resolution of a server's name has a result or an error. The first time, also wakes the first
    /// request in the queue.
    pub(crate) fn note_resolved(&self, id: u64) {
        if self.awaited().remove(&id) {
            self.wake();
        }
    }

    /// Returns the servers with names to resolve, with their identifiers.
    pub(crate) fn named(&self) -> Vec<(u64, NamedServer)> {
        let now = self.lock();
        let named = now.servers.iter().filter_map(|entry| match &entry.server {
            GroupServer::Fixed(_) => None,
            GroupServer::Named(named) => Some((entry.id, named.clone())),
        });
        named.collect()
    }

    /// Sets the resolution result of a server; returns `false` if the server has been removed. Peers that are still in
    /// the result retain their order, state and weight. Addresses after the first [`MAX_ADDRESSES`] are ignored.
    pub(crate) fn set(&self, id: u64, members: &[ResolvedServer]) -> bool {
        let mut servers = self.lock().servers.clone();
        let named = servers.iter_mut().find(|entry| entry.id == id).and_then(|entry| entry.named.as_mut());
        let Some((shown, known)) = named else { return false };
        let mut fresh: Vec<ResolvedServer> = Vec::new();
        for member in members.iter().take(MAX_ADDRESSES) {
            // As in nginx, a service may contain a server twice, but each address of an ordinary name is a single peer.
            if member.is_of_service() || !fresh.contains(member) {
                fresh.push(member.clone());
            }
        }
        let before = shown.clone();
        shown.retain(|member| {
            let stays = fresh.iter().position(|other| other == member);
            stays.map(|at| fresh.remove(at)).is_some()
        });
        shown.append(&mut fresh);
        known.note(self.number, shown);
        if *shown != before {
            let members = shown.clone();
            self.change(|servers, _| {
                let named = servers.iter_mut().find(|entry| entry.id == id);
                if let Some((shown, _)) = named.and_then(|entry| entry.named.as_mut()) {
                    *shown = members;
                }
            });
            self.states.prune();
        }
        true
    }

    /// Changes the servers and rebuilds the peers; concurrent changes are serialized. `change` also gets the next
    /// identifier.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Vec<RosterServer>, &mut u64) -> T) -> T {
        let _turn = self.edited.lock_changes();
        let (mut servers, mut next_id) = {
            let now = self.lock();
            (now.servers.clone(), now.next_id)
        };
        let done = change(&mut servers, &mut next_id);
        self.lock().next_id = next_id;
        self.rebuild(servers);
        done
    }

    /// Applies a change of an administrator and stores it for the group of the same name after a reload. Fails if the
    /// group has no `zone`, if `change` fails, or if the `state` file cannot be written; the servers are then
    /// unchanged.
    pub(crate) fn edit<T>(
        &self,
        change: impl FnOnce(&mut Vec<(u64, GroupServer)>, &mut u64) -> Result<T, EditError>,
    ) -> Result<T, EditError> {
        let state = self.zone.as_ref().ok_or(EditError::Static)?.state.as_deref();
        let done = self.change(|entries, next_id| {
            let mut servers: Vec<_> = entries.iter().map(|entry| (entry.id, entry.server.clone())).collect();
            let done = change(&mut servers, next_id)?;
            self.edited.store(&self.configured, &servers, *next_id, state)?;
            let before = std::mem::take(entries);
            *entries = servers
                .into_iter()
                .map(|(id, server)| {
                    let same =
                        before.iter().find(|entry| entry.id == id && entry.server.is_same_server(&server));
                    let named = same.map(|entry| entry.named.clone());
                    named.map_or_else(
                        || self.entry(id, server.clone()),
                        |named| RosterServer { id, server: server.clone(), named },
                    )
                })
                .collect();
            Ok(done)
        });
        self.names_changed.notify_one();
        self.states.prune();
        done
    }

    /// Returns the number of removed peers that still have active requests.
    pub(crate) fn zombies(&self) -> usize {
        let leaving = &self.lock().leaving;
        leaving.iter().filter_map(Weak::upgrade).filter(|state| state.active() > 0).count()
    }

    /// Returns the state of the peer of the server at an index; `None` for a server with a name. Servers with the same
    /// address have separate states.
    fn fixed_state(&self, servers: &[RosterServer], at: usize) -> Option<Arc<PeerState>> {
        let address = |entry: &RosterServer| match &entry.server {
            GroupServer::Fixed(peer) => Some(peer.address.clone()),
            GroupServer::Named(_) => None,
        };
        let own = address(&servers[at])?;
        let occurrence = servers[..at].iter().filter(|entry| address(entry).as_ref() == Some(&own)).count();
        Some(self.states.peer(&self.group, &own, occurrence))
    }

    /// Rebuilds the list of peers from the servers, and wakes the first request in the queue.
    fn rebuild(&self, servers: Vec<RosterServer>) {
        let (mut configs, mut states, mut ids) = (Vec::new(), Vec::new(), Vec::new());
        for (at, entry) in servers.iter().enumerate() {
            let (GroupServer::Fixed(config), Some(state)) = (&entry.server, self.fixed_state(&servers, at))
            else {
                continue;
            };
            configs.push(config.clone());
            states.push(state);
            ids.push((entry.id, None));
        }
        let mut now_ids = std::mem::take(&mut self.lock().ids);
        let mut next_id = self.lock().next_id;
        for entry in &servers {
            let (GroupServer::Named(server), Some((members, _))) = (&entry.server, &entry.named) else {
                continue;
            };
            for config in members.iter().filter_map(|member| member.config(server)) {
                // Peers with the same server name and address have separate states.
                let same = configs.iter().filter(|peer: &&PeerConfig| peer.address == config.address);
                let occurrence = same.filter(|peer| peer.name == config.name).count();
                let group = format!("{} {}", self.group, config.name);
                let state = self.states.peer(&group, &config.address, occurrence);
                let id = *now_ids.entry(state.id).or_insert_with(|| {
                    next_id += 1;
                    next_id - 1
                });
                ids.push((id, Some(entry.id)));
                states.push(state);
                configs.push(config);
            }
        }
        now_ids.retain(|state, _| states.iter().any(|known| known.id == *state));
        if let Some(checks) = self.checks.get() {
            for state in &states {
                state.health.take_over(self.number, checks);
            }
        }
        let peers = Arc::new(self.list(configs, states, ids));
        let mut now = self.lock();
        if let Some(line) = &self.wait_queue {
            let new = peers.states.iter().filter(|state| now.peers.position(state.id).is_none());
            new.for_each(|state| state.register_queue(line));
        }
        let before = Arc::clone(&now.peers);
        now.weights.adapt(&before, &peers);
        let gone = before.states.iter().filter(|state| peers.position(state.id).is_none());
        let gone: Vec<_> = gone.filter(|state| state.active() > 0).map(Arc::downgrade).collect();
        now.leaving.retain(|state| state.upgrade().is_some_and(|state| state.active() > 0));
        now.leaving.extend(gone);
        (now.peers, now.servers, now.next_id, now.ids) = (peers, servers, next_id, now_ids);
        drop(now);
        self.wake();
    }

    fn list(
        &self,
        configs: Vec<PeerConfig>,
        states: Vec<Arc<PeerState>>,
        ids: Vec<(u64, Option<u64>)>,
    ) -> Peers {
        let ring = (self.balance == Balance::Hash { consistent: true }).then(|| Ring::new(&configs));
        let sids = if self.sticky { configs.iter().map(sid).collect() } else { Vec::new() };
        let shown = configs.iter().map(|peer| peer.address.to_string().into()).collect();
        let start_slowly = configs.iter().any(|peer| peer.slow_start_ms > 0);
        Peers { configs, display_addresses: shown, ids, states, sids, has_slow_start: start_slowly, ring }
    }
}

impl Drop for Roster {
    fn drop(&mut self) {
        self.names_changed.notify_one();
    }
}

/// Returns the `sticky` identifier of a peer: its route, otherwise the MD5 of its address in hexadecimal, as in nginx.
fn sid(peer: &PeerConfig) -> Arc<str> {
    if let Some(route) = &peer.route {
        return route.as_str().into();
    }
    let mut digits = String::with_capacity(32);
    for byte in Md5::digest(peer.address.to_string()) {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits.into()
}
