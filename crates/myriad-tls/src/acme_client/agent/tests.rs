//! Tests of the turns of a certificate in a cluster, with a scripted coordinator.

use std::collections::VecDeque;

use myriad_conf::model::{AcmeChallenge, AcmeIdentifier, AcmeKeyKind};

use super::*;
use crate::acme_client::coordination::{PublishError, SharedChallenge};
use crate::acme_client::wait_times::TAKE_OVER_AFTER_S;
use crate::testing::TestCertificate;

/// Coordinator that returns the results in `turns`, in order, and records the requests.
#[derive(Default)]
struct ScriptedCoordinator {
    turns: Mutex<VecDeque<OrderTurn>>,
    requests: Mutex<Vec<OrderRequest>>,
    /// Account key on which the nodes agree: the first proposal.
    account: Mutex<Option<Zeroizing<Vec<u8>>>>,
    proposals: Mutex<Vec<Vec<u8>>>,
}

impl OrderCoordinator for ScriptedCoordinator {
    fn begin(&self, _: &Arc<CertificateSlot>, request: OrderRequest) -> OrderTurn {
        self.requests.lock().push(request);
        self.turns.lock().pop_front().expect("a turn of the script")
    }

    fn account_key(&self, _: &Issuer, proposal: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.proposals.lock().push(proposal.to_vec());
        Some(self.account.lock().get_or_insert_with(|| proposal.to_vec().into()).clone())
    }
}

struct ScriptedLease;

impl OrderLease for ScriptedLease {
    fn is_lost(&self) -> bool {
        false
    }

    fn failures(&self) -> u32 {
        0
    }

    fn publish(&self, _: &[SharedChallenge]) -> Result<(), PublishError> {
        Ok(())
    }

    fn complete(self: Box<Self>, _: &[u8]) {}

    fn fail(self: Box<Self>, _: Duration) {}
}

/// Result of [`AgentThread::turn`], without its contents.
#[derive(Debug, PartialEq, Eq)]
enum Turn {
    /// The agent orders the certificate without a lease.
    Alone,
    Granted,
    Postponed,
}

/// Agent with one certificate for `a.test`, whose thread does not run.
struct Bench {
    thread: AgentThread,
    slot: Arc<CertificateSlot>,
    callbacks: AgentCallbacks,
    script: Arc<ScriptedCoordinator>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Bench {
    fn new() -> Self {
        let identifiers = vec![AcmeIdentifier::Dns("a.test".to_owned())];
        let slot = CertificateSlot::new(CertificateOrder { identifiers, key: AcmeKeyKind::P256 });
        let script = Arc::<ScriptedCoordinator>::default();
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&lines);
        let callbacks = AgentCallbacks {
            log: Arc::new(move |_, line| log.lock().push(line.to_owned())),
            store: Arc::new(|_, _| {}),
            resolve: Arc::new(|_| Ok(Vec::new())),
            cluster: Some(Arc::clone(&script) as Arc<dyn OrderCoordinator>),
        };
        let entries = vec![ScheduledCertificate::new(Arc::clone(&slot), 0)];
        let state = AgentState { callbacks: callbacks.clone(), entries, stopped: false };
        let shared = Arc::new(AgentShared { state: Mutex::new(state), changed: Condvar::new() });
        let thread = AgentThread {
            shared,
            issuer: issuer(),
            account: None,
            key: None,
            client: None,
            challenges: Arc::default(),
        };
        Self { thread, slot, callbacks, script, lines }
    }

    /// Requests the right to order the certificate at `now_s`; the coordinator returns `turn`.
    fn turn(&self, now_s: u64, turn: OrderTurn) -> Turn {
        self.script.turns.lock().push_back(turn);
        match self.thread.turn(&self.slot, &self.callbacks, now_s) {
            Ok(OrderRight { lease: None, .. }) => Turn::Alone,
            Ok(OrderRight { lease: Some(_), .. }) => Turn::Granted,
            Err(OrderPostponed) => Turn::Postponed,
        }
    }

    /// Returns the time of the next order in seconds since the Unix epoch.
    fn order_at_s(&self) -> u64 {
        self.thread.shared.with_entry(&self.slot, |entry| entry.order_at_s).expect("an entry")
    }
}

fn issuer() -> Issuer {
    Issuer {
        name: "pebble".to_owned(),
        uri: "https://localhost/dir".to_owned(),
        account_key: AccountKey::Generated(AcmeKeyKind::P256),
        challenge: AcmeChallenge::Http01,
        contacts: Vec::new(),
        external_account: None,
        preferred_chain: None,
        profile: None,
        common_name: false,
        roots: None,
        verify: true,
        accepts_terms: true,
    }
}

fn waiting(reason: WaitReason, seconds: u64) -> OrderTurn {
    OrderTurn::Waiting(reason, Duration::from_secs(seconds))
}

#[test]
fn node_never_orders_without_a_lease_in_the_pause_after_failures() {
    let bench = Bench::new();
    for day in 0..30 {
        let turn = bench.turn(day * 86_400, waiting(WaitReason::Failure, 7200));
        assert_eq!(turn, Turn::Postponed);
        assert_eq!(bench.order_at_s(), day * 86_400 + 7201);
    }
    // The connection is lost for a moment after that long time.
    assert_eq!(bench.turn(30 * 86_400, waiting(WaitReason::Unreachable, 0)), Turn::Postponed);
    assert_eq!(bench.turn(30 * 86_400 + 2, waiting(WaitReason::Unreachable, 0)), Turn::Postponed);
    assert_eq!(bench.turn(30 * 86_400 + 4, waiting(WaitReason::Failure, 7200)), Turn::Postponed);
    let lines = bench.lines.lock();
    assert_eq!(lines.iter().filter(|line| line.contains("the last order of a node")).count(), 1, "{lines:?}");
}

#[test]
fn node_without_certificate_orders_for_itself_after_a_minute_without_connection() {
    let bench = Bench::new();
    for now_s in [0, 2, 30, 59] {
        assert_eq!(bench.turn(now_s, waiting(WaitReason::Unreachable, 0)), Turn::Postponed);
        assert_eq!(bench.order_at_s(), now_s + RETRY_S);
    }
    assert_eq!(bench.turn(60, waiting(WaitReason::Unreachable, 0)), Turn::Alone);
    assert_eq!(bench.turn(70, OrderTurn::Granted(Box::new(ScriptedLease))), Turn::Granted);
    assert_eq!(bench.turn(100, waiting(WaitReason::Unreachable, 0)), Turn::Postponed, "a new loss");
}

#[test]
fn node_with_a_usable_certificate_waits_for_the_connection() {
    let bench = Bench::new();
    let text = TestCertificate::usual().both();
    let now_s = bench.slot.fill(&text).expect("a certificate").not_before_s;
    for minute in 0..120 {
        let now_s = now_s + minute * 60;
        assert_eq!(bench.turn(now_s, waiting(WaitReason::Unreachable, 0)), Turn::Postponed);
        assert_eq!(bench.order_at_s(), now_s + UNREACHABLE_S);
    }
}

#[test]
fn first_request_ignores_the_pause_after_failures_of_other_nodes_once() {
    let bench = Bench::new();
    bench.turn(0, waiting(WaitReason::Unreachable, 0));
    bench.turn(2, waiting(WaitReason::OtherNode, 30));
    bench.turn(40, waiting(WaitReason::Failure, 7200));
    let ignored: Vec<_> = bench.script.requests.lock().iter().map(|request| request.ignores_pause).collect();
    assert_eq!(ignored, [true, true, false]);
}

#[test]
fn order_of_another_node_that_lasts_too_long_is_taken_over_with_a_lease() {
    let bench = Bench::new();
    for now_s in [0, 30, TAKE_OVER_AFTER_S - 1, TAKE_OVER_AFTER_S] {
        assert_eq!(bench.turn(now_s, waiting(WaitReason::OtherNode, 30)), Turn::Postponed, "never alone");
    }
    assert_eq!(
        bench.turn(TAKE_OVER_AFTER_S + 31, OrderTurn::Granted(Box::new(ScriptedLease))),
        Turn::Granted
    );
    assert_eq!(bench.turn(TAKE_OVER_AFTER_S + 62, waiting(WaitReason::OtherNode, 30)), Turn::Postponed);
    let taken: Vec<_> = bench.script.requests.lock().iter().map(|request| request.takes_over).collect();
    assert_eq!(taken, [false, false, false, true, true, false]);
}

#[test]
fn account_key_is_proposed_again_after_a_loss_of_data() {
    let mut bench = Bench::new();
    let callbacks = bench.callbacks.clone();
    let mut key = || bench.thread.key(&callbacks).expect("a key").to_pem().as_bytes().to_vec();
    let first = key();
    *bench.script.account.lock() = None;
    assert_eq!(key(), first);
    assert_eq!(*bench.script.proposals.lock(), [first.clone(), first]);
    let other = SigningKey::generate(AcmeKeyKind::P256).expect("a key").to_pem();
    *bench.script.account.lock() = Some(other.as_bytes().to_vec().into());
    assert_eq!(key(), other.as_bytes(), "the account of the other nodes");
}

#[test]
fn certificate_that_arrives_during_the_request_is_not_ordered_again() {
    let bench = Bench::new();
    bench.slot.fill(&TestCertificate::usual().both()).expect("a certificate");
    assert_eq!(bench.turn(0, OrderTurn::Granted(Box::new(ScriptedLease))), Turn::Postponed);
    assert_eq!(bench.turn(0, OrderTurn::Taken), Turn::Postponed);
}

#[test]
fn order_waits_while_another_order_validates_one_of_its_names_by_handshakes() {
    let mut bench = Bench::new();
    let other = CertificateOrder {
        identifiers: ["b.test", "a.test"].map(|name| AcmeIdentifier::Dns(name.to_owned())).into(),
        key: AcmeKeyKind::Rsa2048,
    };
    bench.thread.issuer.challenge = AcmeChallenge::TlsAlpn01;
    let reservation = bench.thread.challenges.reserve(&other).expect("no other order");
    let waits = bench.thread.turn(&bench.slot, &bench.callbacks, 0);
    assert!(waits.is_err() && bench.script.requests.lock().is_empty(), "no lease is requested");
    assert_eq!(bench.order_at_s(), RETRY_S);
    assert!(bench.lines.lock()[0].contains("another order validates one of its names"));
    drop(reservation);
    assert_eq!(bench.turn(RETRY_S, OrderTurn::Granted(Box::new(ScriptedLease))), Turn::Granted);
    // Challenges of `http-01` have different tokens.
    bench.thread.issuer.challenge = AcmeChallenge::Http01;
    let _reservation = bench.thread.challenges.reserve(&other).expect("the right was dropped");
    assert_eq!(bench.turn(10, OrderTurn::Granted(Box::new(ScriptedLease))), Turn::Granted);
}
