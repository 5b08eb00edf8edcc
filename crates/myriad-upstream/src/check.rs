//! Active health checks of the peers of a group. One worker runs them, with a task for each peer.

use std::cell::RefCell;
use std::collections::HashSet;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinError;

use crate::fastcgi_protocol::PoolStatus;

use crate::address::PeerAddress;
use crate::clock;
use crate::config::PeerConfig;
use crate::error::OriginError;
use crate::group::{Group, SelectedPeer};
use crate::health::{CheckOutcome, CheckRules, HealthVerdict};
use crate::peers::Peers;
use crate::pool::HttpPool;
use crate::request::{OriginRequest, Protocol};
use crate::response::OriginResponse;
use crate::restart::spawn_restarting;
use crate::roster::Roster;

/// Interval between searches for peers without a running health check; new peers appear when a name resolves to further
/// addresses or an administrator adds a server.
const PEER_SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// Callback for the error log, called with a message when a peer becomes healthy (`true`) or unhealthy (`false`), when
/// the status of a php-fpm pool becomes readable (`true`) or unreadable (`false`), and when a health check is restarted
/// after a panic (`false`).
pub type HealthLogger = Rc<dyn Fn(bool, &str)>;

/// Health probe of a peer.
pub trait Probe {
    /// Probes the peer once. The future must limit its time itself: the caller sets no timeout.
    fn run<'a>(&'a self, peer: &'a ProbeTarget) -> Pin<Box<dyn Future<Output = ProbeResult> + 'a>>;
}

/// Result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeResult {
    /// The peer is healthy.
    Passed,
    /// The peer is unhealthy, for this reason.
    Failed(String),
    /// The state is unknown: the worker had no free connection for the probe.
    Unknown,
    /// The configuration of the check is no longer in use: the task of this peer finishes.
    Obsolete,
}

impl ProbeResult {
    /// Converts the evaluation of a probe's response; `Err` is the reason why the peer is unhealthy.
    pub fn of_verdict(verdict: Result<(), String>) -> Self {
        verdict.map_or_else(Self::Failed, |()| Self::Passed)
    }

    /// Converts the error of a probe: without a free connection slot in this worker, the result is `Unknown`; for any
    /// other error, `Failed`.
    pub fn of_error(error: &OriginError) -> Self {
        match error.kind() {
            crate::error::ErrorKind::NoConnection => Self::Unknown,
            _ => Self::Failed(error.to_string()),
        }
    }
}

/// Peer to probe. The port for health checks may differ from the port for requests.
#[derive(Debug)]
pub struct ProbeTarget(SelectedPeer);

impl ProbeTarget {
    fn new(peers: &Peers, index: usize, port: Option<u16>) -> Self {
        let mut config = peers.configs[index].clone();
        if let (PeerAddress::Tcp(address), Some(port)) = (&mut config.address, port) {
            address.set_port(port);
        }
        let shown = vec![config.address.to_string().into()];
        let (configs, states) = (vec![config], vec![Arc::clone(&peers.states[index])]);
        Self(SelectedPeer::of(Arc::new(Peers {
            configs,
            display_addresses: shown,
            states,
            ..Peers::default()
        })))
    }

    /// Returns the address for health checks.
    pub fn address(&self) -> &PeerAddress {
        &self.config().address
    }

    /// Returns the number of idle FastCGI connections to the peer; each occupies a php-fpm child process.
    pub fn idle_fastcgi(&self) -> usize {
        let state = self.0.state();
        state.fastcgi.count((state.id, 0))
    }

    /// Stores the status of the php-fpm pool for [`crate::PeerSnapshot`]; `None` clears it.
    pub fn note_pool(&self, status: Option<PoolStatus>) {
        self.0.state().note_pool(status);
    }

    fn config(&self) -> &PeerConfig {
        self.0.config()
    }
}

impl Group {
    /// Sets the rules of the checks of all current and future peers; `rules` is empty if the peers are not checked.
    ///
    /// Every worker calls this when its configuration starts; only the first call sets the rules. Returns `true` for
    /// the first call, unless `rules` is empty: the calling worker must then run the checks for all workers.
    pub fn begin_checks(&self, rules: &[CheckRules]) -> bool {
        self.roster.begin_checks(rules)
    }

    /// Starts a check in tasks on the current thread. All tasks stop when the group is dropped or a newer configuration
    /// uses the same peers; the task of a removed peer stops too. A task that panics is restarted.
    pub fn check(&self, rules: CheckRules, probe: Rc<dyn Probe>, log_health: &HealthLogger) {
        let checker = Rc::new(Checker {
            roster: Arc::downgrade(&self.roster),
            rules,
            probe,
            log_health: Rc::clone(log_health),
            checked: RefCell::default(),
        });
        spawn_restarting(checker, Checker::run, Checker::log_panic);
    }

    /// Returns the peers that are not `down`, for a caller that queries each of them, such as for php-fpm's status.
    pub fn probe_targets(&self) -> Vec<ProbeTarget> {
        let peers = self.roster.peers();
        let in_service = |index: &usize| !peers.states[*index].ordered.is_down(&peers.configs[*index]);
        (0..peers.states.len())
            .filter(in_service)
            .map(|index| ProbeTarget::new(&peers, index, None))
            .collect()
    }

    /// Sends a request to `peer` only. The request may be repeated on a new connection if a reused connection was
    /// closed.
    ///
    /// The request is not counted as a request of the peer, and a FastCGI connection is closed after it. `pool` should
    /// not be the pool for client requests, because the port of the check may differ.
    pub async fn probe(
        &self,
        peer: &ProbeTarget,
        pool: &HttpPool,
        mut request: OriginRequest,
    ) -> Result<Box<OriginResponse>, OriginError> {
        if let Protocol::FastCgi { keep_conn, .. } = &mut request.protocol {
            *keep_conn = false;
        }
        self.attempt(&peer.0, peer.0.begin_probe(), pool, &mut request).await
    }
}

/// Health check of the peers of a group, running in one worker.
struct Checker {
    roster: Weak<Roster>,
    rules: CheckRules,
    probe: Rc<dyn Probe>,
    log_health: HealthLogger,
    /// Identifiers of the peer states that have a task.
    checked: RefCell<HashSet<u64>>,
}

impl Checker {
    /// Starts a task for each current and future peer; returns when the group is dropped or its check is superseded.
    async fn run(self: Rc<Self>) {
        while let Some(roster) = self.roster.upgrade() {
            let peers = roster.peers();
            for state in &peers.states {
                if state.health.is_superseded(roster.number) {
                    return;
                }
                if self.checked.borrow_mut().insert(state.id) {
                    let id = state.id;
                    spawn_restarting(
                        Rc::clone(&self),
                        move |checker| checker.check_peer(id),
                        Self::log_panic,
                    );
                }
            }
            drop((roster, peers));
            tokio::time::sleep(PEER_SCAN_INTERVAL).await;
        }
    }

    /// Probes a peer at intervals until it is removed from the group, or this check is superseded or obsolete.
    async fn check_peer(self: Rc<Self>, id: u64) {
        self.probe_repeatedly(id).await;
        self.checked.borrow_mut().remove(&id);
    }

    async fn probe_repeatedly(&self, id: u64) {
        while let Some(peer) = self.peer(id) {
            // Peers out of service are not probed.
            if !peer.0.state().ordered.is_down(peer.config()) {
                let finding = self.probe.run(&peer).await;
                if !self.record(&peer, finding) {
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

    fn log_panic(&self, panic: &JoinError) {
        let Some(roster) = self.roster.upgrade() else { return };
        let group = roster.name();
        (self.log_health)(
            false,
            &format!("health check of upstream \"{group}\" is restarted after an internal error: {panic}"),
        );
    }

    /// Returns the peer with this identifier; `None` if it has been removed.
    fn peer(&self, id: u64) -> Option<ProbeTarget> {
        let peers = self.roster.upgrade()?.peers();
        let index = peers.position(id)?;
        Some(ProbeTarget::new(&peers, index, self.rules.port))
    }

    /// Records whether a probe passed or failed (an unknown result is ignored), and logs a change of health. A peer
    /// that becomes healthy starts slowly (`slow_start`) and wakes a waiting request. Returns `false` if the check of
    /// this peer must stop.
    fn record(&self, peer: &ProbeTarget, finding: ProbeResult) -> bool {
        let Some(roster) = self.roster.upgrade() else { return false };
        let why = match finding {
            ProbeResult::Obsolete => return false,
            ProbeResult::Unknown => return true,
            ProbeResult::Passed => None,
            ProbeResult::Failed(why) => Some(why),
        };
        let state = peer.0.state();
        let noted = state.health.record(roster.number, &self.rules, why.is_none());
        state.update_downtime(peer.config(), clock::now());
        let verdict = match noted {
            CheckOutcome::Superseded => return false,
            CheckOutcome::Same => return true,
            CheckOutcome::Changed(verdict) => verdict,
        };
        let (address, group) = (peer.address(), roster.name());
        if verdict == HealthVerdict::Healthy {
            state.recover(peer.config(), clock::now());
            roster.wake();
            (self.log_health)(true, &format!("server {address} of upstream \"{group}\" is healthy"));
        } else {
            let why = why.unwrap_or_default();
            (self.log_health)(
                false,
                &format!("server {address} of upstream \"{group}\" is unhealthy: {why}"),
            );
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::GroupConfig;
    use crate::peer_states::PeerStates;
    use std::cell::Cell;

    /// Probe whose first run panics and whose later runs fail.
    struct PanickingProbe(Cell<bool>);

    impl Probe for PanickingProbe {
        fn run<'a>(&'a self, _peer: &'a ProbeTarget) -> Pin<Box<dyn Future<Output = ProbeResult> + 'a>> {
            Box::pin(async {
                assert!(self.0.replace(true), "first probe");
                ProbeResult::Failed("second probe".to_owned())
            })
        }
    }

    #[test]
    fn health_check_continues_after_a_panic() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build_local(tokio::runtime::LocalOptions::default())
            .expect("a runtime");
        runtime.block_on(async {
            let peer = PeerAddress::Unix("/nowhere".into());
            let group = Group::new(GroupConfig::single(peer), &PeerStates::new());
            let rules = CheckRules { name: "c".into(), fails: 1, passes: 1, ..CheckRules::default() };
            assert!(group.begin_checks(std::slice::from_ref(&rules)));
            let (sender, mut logged) = tokio::sync::mpsc::unbounded_channel();
            let log_health: HealthLogger = Rc::new(move |healthy, message| {
                let _ = sender.send((healthy, message.to_owned()));
            });
            group.check(rules, Rc::new(PanickingProbe(Cell::new(false))), &log_health);
            for expected in ["first probe", "is unhealthy: second probe"] {
                let next = tokio::time::timeout(Duration::from_secs(20), logged.recv()).await;
                let (healthy, message) = next.expect("the check continues").expect("a message");
                assert!(!healthy && message.contains(expected), "{message}");
            }
        });
    }
}
