//! Tests of the execution of the checks of a location.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

use myriad_access::begin;
use myriad_exchange::exchange::{
    AccessGate, Check, CheckVerdict, DecisionSink, Exchange, ExplainedDecision, Request,
};
use myriad_serve::testing::TestSite;

use super::support::{GateResult, finish};

fn gate(any: bool) -> AccessGate {
    AccessGate { checks: Vec::new(), any, delay_ms: 0 }
}

fn challenge() -> CheckVerdict {
    CheckVerdict::Challenge(vec![b"Basic realm=\"x\"".to_vec()])
}

const CHALLENGE: &str = "WWW-Authenticate: Basic realm=\"x\"\r\n";

/// Check with a given verdict that counts its executions.
struct FakeCheck {
    name: &'static str,
    verdict: fn() -> CheckVerdict,
    judges_subrequests: bool,
    executions: Arc<AtomicUsize>,
}

impl Check for FakeCheck {
    fn name(&self) -> &'static str {
        self.name
    }

    fn judge(&self, _: &mut Exchange) -> CheckVerdict {
        self.executions.fetch_add(1, SeqCst);
        (self.verdict)()
    }

    fn explain(&self, _: &Request) -> (String, CheckVerdict) {
        let explanation = if self.name == "silent" { "" } else { "told" };
        (explanation.to_owned(), (self.verdict)())
    }

    fn judges_subrequests(&self) -> bool {
        self.judges_subrequests
    }
}

/// Gate of checks with given verdicts, and the number of executions of each.
struct FakeGate {
    gate: AccessGate,
    executions: Vec<Arc<AtomicUsize>>,
}

impl FakeGate {
    fn new(any: bool, says: &[fn() -> CheckVerdict]) -> Self {
        let mut fakes = Self { gate: gate(any), executions: Vec::new() };
        for says in says {
            fakes.add("fake", *says, false);
        }
        fakes
    }

    fn add(&mut self, name: &'static str, says: fn() -> CheckVerdict, judges_subrequests: bool) {
        let asked = Arc::<AtomicUsize>::default();
        self.executions.push(Arc::clone(&asked));
        self.gate.checks.push(Box::new(FakeCheck {
            name,
            verdict: says,
            judges_subrequests,
            executions: asked,
        }));
    }

    fn asked(&self) -> Vec<usize> {
        self.executions.iter().map(|asked| asked.load(SeqCst)).collect()
    }

    /// Runs the gate. Returns its result, the number of waits, and the number of executions of each check.
    fn ask(mut self, exchange: &mut Exchange) -> (GateResult, u32, Vec<usize>) {
        let gate = Arc::new(std::mem::replace(&mut self.gate, gate(false)));
        let asked = finish(exchange, |exchange| begin(exchange, &gate));
        (asked.result, asked.waits, self.asked())
    }
}

fn exchange() -> Box<Exchange> {
    TestSite::new("", "").exchange("/", &[])
}

fn pass() -> CheckVerdict {
    CheckVerdict::Pass
}

fn allow() -> CheckVerdict {
    CheckVerdict::Allow
}

fn refuse() -> CheckVerdict {
    CheckVerdict::Refuse(403)
}

fn fail() -> CheckVerdict {
    CheckVerdict::Fail(503)
}

#[test]
fn no_check_runs_after_a_deciding_one() {
    let ask = |any, says: &[fn() -> CheckVerdict]| FakeGate::new(any, says).ask(&mut exchange());
    assert_eq!(ask(false, &[pass, allow, pass]), (GateResult::Admitted, 0, vec![1, 1, 1]));
    assert_eq!(ask(false, &[refuse, pass]), (GateResult::out(403), 0, vec![1, 0]));
    assert_eq!(ask(false, &[challenge, pass]), (GateResult::Rejected(401, CHALLENGE.into()), 0, vec![1, 0]));
    assert_eq!(ask(false, &[fail, pass]), (GateResult::out(503), 0, vec![1, 0]));
    assert_eq!(ask(true, &[refuse, allow, fail]), (GateResult::Admitted, 0, vec![1, 1, 0]));
    assert_eq!(ask(true, &[refuse, pass, refuse]), (GateResult::out(403), 0, vec![1, 1, 1]));
    assert_eq!(ask(true, &[refuse, fail, allow]), (GateResult::out(503), 0, vec![1, 1, 0]));
}

#[test]
fn satisfy_any_sends_all_challenges_when_every_check_fails() {
    fn several() -> CheckVerdict {
        CheckVerdict::Challenge(vec![b"Bearer".to_vec(), b"Negotiate".to_vec()])
    }
    let (came, ..) = FakeGate::new(true, &[challenge, several, refuse]).ask(&mut exchange());
    let lines = format!("{CHALLENGE}WWW-Authenticate: Bearer\r\nWWW-Authenticate: Negotiate\r\n");
    assert_eq!(came, GateResult::Rejected(401, lines));
}

#[test]
fn a_refusal_with_401_needs_no_challenge() {
    let (came, ..) = FakeGate::new(false, &[|| CheckVerdict::Refuse(401)]).ask(&mut exchange());
    assert_eq!(came, GateResult::out(401));
}

#[test]
fn checks_resume_after_waiting_check_with_earlier_verdicts() {
    fn later() -> CheckVerdict {
        CheckVerdict::wait(async |_: &mut Exchange| CheckVerdict::Pass)
    }
    let ask = |any, says: &[fn() -> CheckVerdict]| FakeGate::new(any, says).ask(&mut exchange());
    assert_eq!(ask(false, &[later, later, allow]), (GateResult::Admitted, 2, vec![1, 1, 1]));
    assert_eq!(
        ask(true, &[challenge, later, refuse]),
        (GateResult::Rejected(401, CHALLENGE.into()), 1, vec![1, 1, 1])
    );
    assert_eq!(ask(false, &[later, refuse, allow]), (GateResult::out(403), 1, vec![1, 1, 0]));
}

#[test]
fn verdict_after_a_wait_counts_as_any_other() {
    fn lets_in() -> CheckVerdict {
        CheckVerdict::wait(async |_: &mut Exchange| CheckVerdict::Allow)
    }
    fn challenges_later() -> CheckVerdict {
        CheckVerdict::wait(async |_: &mut Exchange| challenge())
    }
    fn waits_twice() -> CheckVerdict {
        CheckVerdict::wait(async |_: &mut Exchange| challenges_later())
    }
    let ask = |any, says: &[fn() -> CheckVerdict]| FakeGate::new(any, says).ask(&mut exchange());
    assert_eq!(ask(true, &[refuse, lets_in, fail]), (GateResult::Admitted, 1, vec![1, 1, 0]));
    assert_eq!(
        ask(false, &[challenges_later, fail]),
        (GateResult::Rejected(401, CHALLENGE.into()), 1, vec![1, 0])
    );
    assert_eq!(
        ask(false, &[waits_twice, fail]),
        (GateResult::Rejected(401, CHALLENGE.into()), 2, vec![1, 0])
    );
}

#[test]
fn a_401_is_held_back_and_nothing_else() {
    let ask = |says: &[fn() -> CheckVerdict]| {
        let mut fakes = FakeGate::new(true, says);
        fakes.gate.delay_ms = 20;
        let began = Instant::now();
        let (came, waits, _) = fakes.ask(&mut exchange());
        (came, waits, began.elapsed().as_millis() >= 20)
    };
    assert_eq!(ask(&[refuse, challenge]), (GateResult::Rejected(401, CHALLENGE.into()), 1, true));
    assert_eq!(ask(&[|| CheckVerdict::Refuse(401)]), (GateResult::out(401), 1, true));
    assert_eq!((ask(&[refuse]).0, ask(&[refuse]).1), (GateResult::out(403), 0));
    assert_eq!((ask(&[challenge, allow]).0, ask(&[challenge, allow]).1), (GateResult::Admitted, 0));
}

#[test]
fn of_a_subrequest_only_those_checks_are_asked_that_judge_them() {
    let mut parent = exchange();
    let mut child = parent.child(b"/child", b"").expect("the first subrequest");
    let mut fakes = FakeGate::new(false, &[refuse, challenge]);
    fakes.add("counts", pass, true);
    assert_eq!(fakes.ask(&mut child), (GateResult::Admitted, 0, vec![0, 0, 1]));
    let mut fakes = FakeGate::new(false, &[refuse]);
    fakes.add("counts", fail, true);
    assert_eq!(fakes.ask(&mut child), (GateResult::out(503), 0, vec![0, 1]));
}

#[test]
fn requests_that_are_checked_take_no_short_way() {
    let mut exchange = exchange();
    assert!(!exchange.request.shortcut.depends_on_more.get());
    FakeGate::new(false, &[pass]).ask(&mut exchange);
    assert!(exchange.request.shortcut.depends_on_more.get());
}

#[derive(Default)]
struct ExplainedLines(RefCell<Vec<ExplainedDecision>>);

impl DecisionSink for ExplainedLines {
    fn take(&self, line: ExplainedDecision) {
        self.0.borrow_mut().push(line);
    }
}

/// Returns the result of an explained request, and the reported text.
fn explained(mut fakes: FakeGate) -> (GateResult, String) {
    fakes.gate.delay_ms = 60_000;
    let lines = Rc::<ExplainedLines>::default();
    let mut exchange = exchange();
    exchange.request.received.sink = Some(Rc::clone(&lines) as _);
    let (came, waits, asked) = fakes.ask(&mut exchange);
    assert!(asked.iter().all(|asked| *asked == 0), "an explained request has no effect");
    assert_eq!(waits, 0);
    let text =
        lines.0.take().into_iter().map(|line| format!("{} {}: {}\n", line.topic, line.text, line.outcome));
    (came, text.collect())
}

#[test]
fn explain_reports_every_check_without_running_it() {
    let mut fakes = FakeGate::new(false, &[]);
    fakes.add("first", pass, true);
    fakes.add("silent", pass, false);
    fakes.add("second", refuse, false);
    fakes.add("third", allow, false);
    let expected = "access first: told\naccess second: told\naccess third: told\n";
    assert_eq!(explained(fakes), (GateResult::out(403), expected.to_owned()));
}

#[test]
fn explain_continues_according_to_verdicts() {
    assert_eq!(explained(FakeGate::new(false, &[pass, allow])).0, GateResult::Admitted);
    assert_eq!(explained(FakeGate::new(true, &[refuse, allow])).0, GateResult::Admitted);
    assert_eq!(explained(FakeGate::new(true, &[allow, refuse])).0, GateResult::Admitted);
    let (came, told) = explained(FakeGate::new(true, &[refuse, pass]));
    assert_eq!(came, GateResult::out(403));
    assert!(told.ends_with("log access forbidden by rule: \n"), "{told}");
}
