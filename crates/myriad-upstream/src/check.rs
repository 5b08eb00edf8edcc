//! Checks of the peers of a group that run beside requests, each peer by itself, in tasks of one worker.

use std::cell::RefCell;
use std::collections::HashSet;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use myriad_fastcgi::PoolStatus;

use crate::address::Address;
use crate::clock;
use crate::config::PeerConfig;
use crate::error::OriginError;
use crate::group::{Chosen, Group};
use crate::health::{CheckRules, Noted, Verdict};
use crate::peers::Peers;
use crate::pool::HttpPool;
use crate::request::{OriginRequest, Protocol};
use crate::response::OriginResponse;
use crate::roster::Roster;

/// How often new peers are looked for, of names that stand for others than before.
const LOOKING: Duration = Duration::from_secs(1);

/// Is told of each peer that has become unhealthy, or healthy (`true`), for the error log.
pub type TellHealth = Rc<dyn Fn(bool, &str)>;

/// What asks a peer whether it is well.
pub trait Probe {
    /// Asks it once. The future has to end by itself.
    fn ask<'a>(&'a self, peer: &'a Probed) -> Pin<Box<dyn Future<Output = Finding> + 'a>>;
}

/// What a probe has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The peer is well.
    Passed,
    /// It is not, for this reason.
    Failed(String),
    /// Nobody knows: this server had no connection to ask it by.
    Unknown,
    /// The configuration that asked is gone.
    Over,
}

impl Finding {
    /// What a judgment of an answer comes to; the error is why the peer is not well.
    pub fn of_verdict(verdict: Result<(), String>) -> Self {
        verdict.map_or_else(Self::Failed, |()| Self::Passed)
    }

    /// A peer that could not be asked, or has not answered.
    pub fn of_error(error: &OriginError) -> Self {
        match error.kind() {
            crate::error::ErrorKind::NoConnection => Self::Unknown,
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// A peer that is checked, with the address that is asked.
#[derive(Debug)]
pub struct Probed(Chosen);

impl Probed {
    fn new(peers: &Peers, index: usize, port: Option<u16>) -> Self {
        let mut config = peers.configs[index].clone();
        if let (Address::Tcp(address), Some(port)) = (&mut config.address, port) {
            address.set_port(port);
        }
        let shown = vec![config.address.to_string().into()];
        let (configs, states) = (vec![config], vec![Arc::clone(&peers.states[index])]);
        Self(Chosen::of(Arc::new(Peers { configs, shown, states, ..Peers::default() })))
    }

    /// Where it is asked.
    pub fn address(&self) -> &Address {
        &self.config().address
    }

    /// Idle FastCGI connections to it, each of which keeps a child of php-fpm.
    pub fn idle_fastcgi(&self) -> usize {
        let state = self.0.state();
        state.fastcgi.count((state.id, 0))
    }

    /// Keeps what its pool has said of itself, for [`crate::PeerSnapshot`]; none where it has said nothing of late.
    pub fn note_pool(&self, status: Option<PoolStatus>) {
        self.0.state().note_pool(status);
    }

    fn config(&self) -> &PeerConfig {
        self.0.config()
    }
}

impl Group {
    /// Says how the peers are checked from now on, also those that come later; none where nobody checks them. Every worker says so when
    /// its configuration begins; whoever is told `true` runs the checks for all.
    pub fn begin_checks(&self, rules: &[CheckRules]) -> bool {
        self.roster.begin_checks(rules)
    }

    /// Runs one of the checks from now on, in tasks of this worker's runtime that end with the group, or when a newer configuration
    /// checks its peers.
    pub fn check(&self, rules: CheckRules, probe: Rc<dyn Probe>, tell: &TellHealth) {
        let checker = Checker {
            roster: Arc::downgrade(&self.roster),
            rules,
            probe,
            tell: Rc::clone(tell),
            checked: RefCell::default(),
        };
        tokio::task::spawn_local(Rc::new(checker).run());
    }

    /// The peers that are in service now, to be asked beside requests.
    pub fn probed(&self) -> Vec<Probed> {
        let peers = self.roster.peers();
        let in_service = |index: &usize| !peers.states[*index].ordered.is_down(&peers.configs[*index]);
        (0..peers.states.len()).filter(in_service).map(|index| Probed::new(&peers, index, None)).collect()
    }

    /// Sends a request to that peer, and to no other. It counts as none of the peer's requests, and comes over a connection of `pool`,
    /// which should be no visitor's: the port may be another one.
    pub async fn probe(
        &self,
        peer: &Probed,
        pool: &HttpPool,
        mut request: OriginRequest,
    ) -> Result<Box<OriginResponse>, OriginError> {
        if let Protocol::FastCgi { keep_conn, .. } = &mut request.protocol {
            *keep_conn = false;
        }
        self.attempt(&peer.0, peer.0.probed(), pool, &mut request).await
    }
}

/// One check of a group.
struct Checker {
    roster: Weak<Roster>,
    rules: CheckRules,
    probe: Rc<dyn Probe>,
    tell: TellHealth,
    /// The peers that have a task, by their states' numbers.
    checked: RefCell<HashSet<u64>>,
}

impl Checker {
    /// Gives each peer a task, now and when peers come.
    async fn run(self: Rc<Self>) {
        while let Some(roster) = self.roster.upgrade() {
            let peers = roster.peers();
            for state in &peers.states {
                if state.health.is_superseded(roster.number) {
                    return;
                }
                if self.checked.borrow_mut().insert(state.id) {
                    let (checker, id) = (Rc::clone(&self), state.id);
                    tokio::task::spawn_local(async move {
                        checker.follow(id).await;
                        checker.checked.borrow_mut().remove(&id);
                    });
                }
            }
            drop((roster, peers));
            tokio::time::sleep(LOOKING).await;
        }
    }

    /// Checks a peer for as long as the group has it.
    async fn follow(&self, id: u64) {
        while let Some(peer) = self.peer(id) {
            // What is out of service is not asked.
            if !peer.0.state().ordered.is_down(peer.config()) {
                let finding = self.probe.ask(&peer).await;
                if !self.note(&peer, finding) {
                    return;
                }
            }
            let jitter_ms = match self.rules.jitter_ms {
                0 => 0,
                most => RandomState::new().hash_one(id) % most,
            };
            tokio::time::sleep(Duration::from_millis(self.rules.interval_ms.saturating_add(jitter_ms))).await;
        }
    }

    /// The peer of that number; none once it has gone.
    fn peer(&self, id: u64) -> Option<Probed> {
        let peers = self.roster.upgrade()?.peers();
        let index = peers.place(id)?;
        Some(Probed::new(&peers, index, self.rules.port))
    }

    /// Notes what was found, and tells a change; false where this check counts no more.
    fn note(&self, peer: &Probed, finding: Finding) -> bool {
        let Some(roster) = self.roster.upgrade() else { return false };
        let why = match finding {
            Finding::Over => return false,
            Finding::Unknown => return true,
            Finding::Passed => None,
            Finding::Failed(why) => Some(why),
        };
        let state = peer.0.state();
        let noted = state.health.note(roster.number, &self.rules, why.is_none());
        state.watch(peer.config(), clock::now());
        let verdict = match noted {
            Noted::Superseded => return false,
            Noted::Same => return true,
            Noted::Changed(verdict) => verdict,
        };
        let (address, group) = (peer.address(), roster.name());
        if verdict == Verdict::Healthy {
            state.recover(peer.config(), clock::now());
            roster.wake();
            (self.tell)(true, &format!("server {address} of upstream \"{group}\" is healthy"));
        } else {
            let why = why.unwrap_or_default();
            (self.tell)(false, &format!("server {address} of upstream \"{group}\" is unhealthy: {why}"));
        }
        true
    }
}
