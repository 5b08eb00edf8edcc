//! The peers of a group as they are now: those with addresses, which stay, and those that names stand for, which come and go.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use md5::{Digest, Md5};
use myriad_conf::model::Balance;

use crate::balance::Weights;
use crate::config::{GroupConfig, NamedServers, PeerConfig};
use crate::health::CheckRules;
use crate::line::Line;
use crate::member::Member;
use crate::peer::PeerState;
use crate::peer_states::{Known, PeerStates};
use crate::peers::Peers;
use crate::ring::Ring;

/// Most peers that one name stands for; further addresses of an answer are not used.
const MOST_ADDRESSES: usize = 512;

static NEXT_NUMBER: AtomicU64 = AtomicU64::new(1);

/// What of a group changes while it runs; workers share it.
#[derive(Debug)]
pub(crate) struct Roster {
    group: String,
    balance: Balance,
    sticky: bool,
    /// The peers with addresses.
    fixed: (Vec<PeerConfig>, Vec<Arc<PeerState>>),
    pub(crate) names: Option<NamedServers>,
    /// Counts rosters: after a reload that of a group has a higher number than before.
    pub(crate) number: u64,
    /// How the peers are checked; not said before the configuration runs.
    checks: OnceLock<Vec<CheckRules>>,
    /// What the next roster of this group begins with for each of the names.
    known: Vec<Arc<Known>>,
    states: PeerStates,
    /// The queue that new peers serve; none without `queue`.
    line: Option<Line>,
    /// Whether a worker looks the names up.
    followed: AtomicBool,
    now: Mutex<Now>,
}

/// The list, and what is remembered of choices among it.
#[derive(Debug)]
pub(crate) struct Now {
    pub(crate) peers: Arc<Peers>,
    pub(crate) weights: Weights,
    /// What each of the names stands for in the list.
    shown: Vec<Vec<Member>>,
}

impl Roster {
    /// The peers of a group, which keep the health that `states` has for them.
    pub(crate) fn new(config: &GroupConfig, states: &PeerStates, line: Option<Line>) -> Self {
        let peers = &config.peers;
        let occurrence =
            |index: usize| peers[..index].iter().filter(|peer| peer.address == peers[index].address).count();
        let fixed = peers
            .iter()
            .enumerate()
            .map(|(index, peer)| states.peer(&config.name, &peer.address, occurrence(index)))
            .collect();
        let servers = config.names.iter().flat_map(|names| &names.servers);
        let known: Vec<_> = servers.map(|server| states.known(&config.name, &server.host)).collect();
        let shown = known.iter().map(|known| known.members()).collect();
        let empty = Arc::new(Peers::default());
        let roster = Self {
            group: config.name.clone(),
            balance: config.balance,
            sticky: config.sticky,
            fixed: (peers.clone(), fixed),
            names: config.names.clone(),
            number: NEXT_NUMBER.fetch_add(1, Relaxed),
            known,
            states: states.clone(),
            line,
            checks: OnceLock::new(),
            followed: AtomicBool::new(false),
            now: Mutex::new(Now { peers: empty, weights: Weights::new(&[]), shown }),
        };
        roster.renew(None);
        roster
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Now> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The list as it is now.
    pub(crate) fn peers(&self) -> Arc<Peers> {
        Arc::clone(&self.lock().peers)
    }

    /// The name of the group.
    pub(crate) fn name(&self) -> &str {
        &self.group
    }

    /// A request that waits in the queue may have a peer now.
    pub(crate) fn wake(&self) {
        if let Some(line) = &self.line {
            line.wake_first();
        }
    }

    /// Says how the peers are checked, if nobody has said so; whether whoever asks is the one that is to check them.
    pub(crate) fn begin_checks(&self, rules: &[CheckRules]) -> bool {
        let mut is_first = false;
        // Others wait: none of them serves before the states hold.
        let rules = self.checks.get_or_init(|| {
            is_first = true;
            for state in &self.peers().states {
                state.health.take_over(self.number, rules);
            }
            rules.to_vec()
        });
        is_first && !rules.is_empty()
    }

    /// Whether whoever asks is the one that is to look the names up.
    pub(crate) fn begin_to_follow(&self) -> bool {
        self.names.is_some() && !self.followed.swap(true, Relaxed)
    }

    /// Says what the name of a server stands for now. Peers that stay keep their place, their state and their share.
    pub(crate) fn set(&self, server: usize, members: &[Member]) {
        let Some(mut next) = self.lock().shown.get(server).cloned() else { return };
        let before = next.clone();
        let mut fresh: Vec<Member> = Vec::new();
        for member in members.iter().take(MOST_ADDRESSES) {
            // As in nginx a service may name a server twice, an address is one peer.
            if member.is_of_service() || !fresh.contains(member) {
                fresh.push(member.clone());
            }
        }
        next.retain(|member| {
            let stays = fresh.iter().position(|other| other == member);
            stays.map(|at| fresh.remove(at)).is_some()
        });
        next.append(&mut fresh);
        self.known[server].note(self.number, &next);
        if next != before {
            self.renew(Some((server, next)));
            self.states.prune();
        }
    }

    /// Makes the list anew, where one of the names stands for other addresses. The worker that follows the names calls it, so that no
    /// two calls run at once.
    fn renew(&self, changed: Option<(usize, Vec<Member>)>) {
        let (mut configs, mut states) = self.fixed.clone();
        let mut shown = self.lock().shown.clone();
        if let Some((server, members)) = changed {
            shown[server] = members;
        }
        let servers = self.names.iter().flat_map(|names| &names.servers);
        for (server, members) in servers.zip(&shown) {
            for config in members.iter().filter_map(|member| member.config(server)) {
                // Servers of the same name each count for themselves.
                let same = configs.iter().filter(|peer| peer.address == config.address);
                let occurrence = same.filter(|peer| peer.name == config.name).count();
                let group = format!("{} {}", self.group, config.name);
                states.push(self.states.peer(&group, &config.address, occurrence));
                configs.push(config);
            }
        }
        if let Some(checks) = self.checks.get() {
            for state in &states {
                state.health.take_over(self.number, checks);
            }
        }
        let ring = (self.balance == Balance::Hash { consistent: true }).then(|| Ring::new(&configs));
        let sids = if self.sticky { configs.iter().map(sid).collect() } else { Vec::new() };
        let addresses = configs.iter().map(|peer| peer.address.to_string().into()).collect();
        let start_slowly = configs.iter().any(|peer| peer.slow_start_ms > 0);
        let peers = Arc::new(Peers { configs, shown: addresses, states, sids, start_slowly, ring });
        let mut now = self.lock();
        if let Some(line) = &self.line {
            let new = peers.states.iter().filter(|state| now.peers.place(state.id).is_none());
            new.for_each(|state| state.serve_line(line));
        }
        let before = Arc::clone(&now.peers);
        now.weights.follow(&before, &peers);
        (now.peers, now.shown) = (peers, shown);
        drop(now);
        self.wake();
    }
}

/// What requests call a peer by: its route, else the MD5 of its address as nginx makes it.
fn sid(peer: &PeerConfig) -> Arc<str> {
    if let Some(route) = &peer.route {
        return route.as_str().into();
    }
    let mut digits = String::with_capacity(32);
    for byte in Md5::digest(peer.address.to_string()) {
        // To a text nothing fails.
        let _ = write!(digits, "{byte:02x}");
    }
    digits.into()
}
