use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Instant;

use super::{Progress, Verdict, begin};
use crate::testing::{Came, finish};
use myriad_exchange::exchange::{Check, Exchange, Gate, Line, Request, Sink, Step};
use myriad_serve::testing::TestSite;

fn gate(any: bool) -> Gate {
    Gate { checks: Vec::new(), any, delay_ms: 0 }
}

/// Returns the combined result of the verdicts: the status of the rejection, and the challenges.
fn come_to(any: bool, verdicts: Vec<Verdict>) -> (Option<u16>, String) {
    let mut progress = Progress::default();
    for verdict in verdicts {
        match progress.hear(&gate(any), verdict) {
            Some(Step::Error(status)) => return (Some(status), String::new()),
            Some(_) => panic!("only an error ends the checks"),
            None if progress.decided => break,
            None => {}
        }
    }
    (progress.refused, String::from_utf8(progress.challenges.join(&b", "[..])).unwrap())
}

fn challenge() -> Verdict {
    Verdict::Challenge(vec![b"Basic realm=\"x\"".to_vec()])
}

const VALUE: &str = "Basic realm=\"x\"";
const CHALLENGE: &str = "WWW-Authenticate: Basic realm=\"x\"\r\n";

#[test]
fn all_checks_must_let_in() {
    assert_eq!(come_to(false, vec![Verdict::Allow, Verdict::Allow, Verdict::Pass]), (None, String::new()));
    assert_eq!(come_to(false, vec![Verdict::Refuse(403), Verdict::Allow]), (Some(403), String::new()));
    assert_eq!(come_to(false, vec![Verdict::Allow, challenge()]), (Some(401), VALUE.into()));
    assert_eq!(come_to(false, vec![challenge(), Verdict::Allow]), (Some(401), VALUE.into()));
}

#[test]
fn one_check_that_lets_in_satisfies_any() {
    assert_eq!(come_to(true, vec![Verdict::Allow, challenge()]), (None, String::new()));
    assert_eq!(come_to(true, vec![Verdict::Refuse(403), Verdict::Allow]), (None, String::new()));
    assert_eq!(come_to(true, vec![challenge(), Verdict::Allow]), (None, String::new()));
    assert_eq!(come_to(true, vec![Verdict::Pass, Verdict::Pass, Verdict::Pass]), (None, String::new()));
}

#[test]
fn a_challenge_outweighs_a_plain_refusal() {
    assert_eq!(come_to(true, vec![Verdict::Refuse(403), challenge()]), (Some(401), VALUE.into()));
    assert_eq!(come_to(true, vec![challenge(), Verdict::Refuse(403)]), (Some(401), VALUE.into()));
}

#[test]
fn a_failure_ends_the_checks_whatever_satisfies() {
    assert_eq!(come_to(true, vec![Verdict::Fail(500), Verdict::Allow]), (Some(500), String::new()));
    assert_eq!(come_to(false, vec![Verdict::Fail(503), Verdict::Refuse(403)]), (Some(503), String::new()));
}

/// Check with a given verdict that counts its executions.
struct Fake {
    name: &'static str,
    says: fn() -> Verdict,
    judges_subrequests: bool,
    asked: Arc<AtomicUsize>,
}

impl Check for Fake {
    fn name(&self) -> &'static str {
        self.name
    }

    fn judge(&self, _: &mut Exchange) -> Verdict {
        self.asked.fetch_add(1, SeqCst);
        (self.says)()
    }

    fn explain(&self, _: &Request) -> (String, Verdict) {
        let told = if self.name == "silent" { "" } else { "told" };
        (told.to_owned(), (self.says)())
    }

    fn judges_subrequests(&self) -> bool {
        self.judges_subrequests
    }
}

/// Gate of checks with given verdicts, and the number of executions of each.
struct Fakes {
    gate: Gate,
    asked: Vec<Arc<AtomicUsize>>,
}

impl Fakes {
    fn new(any: bool, says: &[fn() -> Verdict]) -> Self {
        let mut fakes = Self { gate: gate(any), asked: Vec::new() };
        for says in says {
            fakes.add("fake", *says, false);
        }
        fakes
    }

    fn add(&mut self, name: &'static str, says: fn() -> Verdict, judges_subrequests: bool) {
        let asked = Arc::<AtomicUsize>::default();
        self.asked.push(Arc::clone(&asked));
        self.gate.checks.push(Box::new(Fake { name, says, judges_subrequests, asked }));
    }

    fn asked(&self) -> Vec<usize> {
        self.asked.iter().map(|asked| asked.load(SeqCst)).collect()
    }

    /// Returns the result of the exchange, the number of waits, and the number of executions of each check.
    fn ask(mut self, exchange: &mut Exchange) -> (Came, u32, Vec<usize>) {
        let gate = Arc::new(std::mem::replace(&mut self.gate, gate(false)));
        let asked = finish(exchange, |exchange| begin(exchange, &gate));
        (asked.came, asked.waits, self.asked())
    }
}

fn exchange() -> Box<Exchange> {
    TestSite::new("", "").exchange("/", &[])
}

fn pass() -> Verdict {
    Verdict::Pass
}

fn allow() -> Verdict {
    Verdict::Allow
}

fn refuse() -> Verdict {
    Verdict::Refuse(403)
}

fn fail() -> Verdict {
    Verdict::Fail(503)
}

#[test]
fn no_check_runs_after_a_deciding_one() {
    let ask = |any, says: &[fn() -> Verdict]| Fakes::new(any, says).ask(&mut exchange());
    assert_eq!(ask(false, &[pass, allow, pass]), (Came::In, 0, vec![1, 1, 1]));
    assert_eq!(ask(false, &[refuse, pass]), (Came::out(403), 0, vec![1, 0]));
    assert_eq!(ask(false, &[challenge, pass]), (Came::Out(401, CHALLENGE.into()), 0, vec![1, 0]));
    assert_eq!(ask(false, &[fail, pass]), (Came::out(503), 0, vec![1, 0]));
    assert_eq!(ask(true, &[refuse, allow, fail]), (Came::In, 0, vec![1, 1, 0]));
    assert_eq!(ask(true, &[refuse, pass, refuse]), (Came::out(403), 0, vec![1, 1, 1]));
    assert_eq!(ask(true, &[refuse, fail, allow]), (Came::out(503), 0, vec![1, 1, 0]));
}

#[test]
fn satisfy_any_sends_all_challenges_when_every_check_fails() {
    fn several() -> Verdict {
        Verdict::Challenge(vec![b"Bearer".to_vec(), b"Negotiate".to_vec()])
    }
    let (came, ..) = Fakes::new(true, &[challenge, several, refuse]).ask(&mut exchange());
    let lines = format!("{CHALLENGE}WWW-Authenticate: Bearer\r\nWWW-Authenticate: Negotiate\r\n");
    assert_eq!(came, Came::Out(401, lines));
}

#[test]
fn a_refusal_with_401_needs_no_challenge() {
    let (came, ..) = Fakes::new(false, &[|| Verdict::Refuse(401)]).ask(&mut exchange());
    assert_eq!(came, Came::out(401));
}

#[test]
fn checks_resume_after_waiting_check_with_earlier_verdicts() {
    fn later() -> Verdict {
        Verdict::wait(async |_: &mut Exchange| Verdict::Pass)
    }
    let ask = |any, says: &[fn() -> Verdict]| Fakes::new(any, says).ask(&mut exchange());
    assert_eq!(ask(false, &[later, later, allow]), (Came::In, 2, vec![1, 1, 1]));
    assert_eq!(ask(true, &[challenge, later, refuse]), (Came::Out(401, CHALLENGE.into()), 1, vec![1, 1, 1]));
    assert_eq!(ask(false, &[later, refuse, allow]), (Came::out(403), 1, vec![1, 1, 0]));
}

#[test]
fn verdict_after_a_wait_counts_as_any_other() {
    fn lets_in() -> Verdict {
        Verdict::wait(async |_: &mut Exchange| Verdict::Allow)
    }
    fn keeps_out() -> Verdict {
        Verdict::wait(async |_: &mut Exchange| challenge())
    }
    fn waits_twice() -> Verdict {
        Verdict::wait(async |_: &mut Exchange| keeps_out())
    }
    let ask = |any, says: &[fn() -> Verdict]| Fakes::new(any, says).ask(&mut exchange());
    assert_eq!(ask(true, &[refuse, lets_in, fail]), (Came::In, 1, vec![1, 1, 0]));
    assert_eq!(ask(false, &[keeps_out, fail]), (Came::Out(401, CHALLENGE.into()), 1, vec![1, 0]));
    assert_eq!(ask(false, &[waits_twice, fail]), (Came::Out(401, CHALLENGE.into()), 2, vec![1, 0]));
}

#[test]
fn a_401_is_held_back_and_nothing_else() {
    let ask = |says: &[fn() -> Verdict]| {
        let mut fakes = Fakes::new(true, says);
        fakes.gate.delay_ms = 20;
        let began = Instant::now();
        let (came, waits, _) = fakes.ask(&mut exchange());
        (came, waits, began.elapsed().as_millis() >= 20)
    };
    assert_eq!(ask(&[refuse, challenge]), (Came::Out(401, CHALLENGE.into()), 1, true));
    assert_eq!(ask(&[|| Verdict::Refuse(401)]), (Came::out(401), 1, true));
    assert_eq!((ask(&[refuse]).0, ask(&[refuse]).1), (Came::out(403), 0));
    assert_eq!((ask(&[challenge, allow]).0, ask(&[challenge, allow]).1), (Came::In, 0));
}

#[test]
fn of_a_subrequest_only_those_checks_are_asked_that_judge_them() {
    let mut parent = exchange();
    let mut child = parent.child(b"/child", b"").expect("the first subrequest");
    let mut fakes = Fakes::new(false, &[refuse, challenge]);
    fakes.add("counts", pass, true);
    assert_eq!(fakes.ask(&mut child), (Came::In, 0, vec![0, 0, 1]));
    let mut fakes = Fakes::new(false, &[refuse]);
    fakes.add("counts", fail, true);
    assert_eq!(fakes.ask(&mut child), (Came::out(503), 0, vec![0, 1]));
}

#[test]
fn requests_that_are_checked_take_no_short_way() {
    let mut exchange = exchange();
    assert!(!exchange.request.shortcut.strayed.get());
    Fakes::new(false, &[pass]).ask(&mut exchange);
    assert!(exchange.request.shortcut.strayed.get());
}

#[derive(Default)]
struct Lines(RefCell<Vec<Line>>);

impl Sink for Lines {
    fn take(&self, line: Line) {
        self.0.borrow_mut().push(line);
    }
}

/// Returns the result of an explained request, and the reported text.
fn explained(mut fakes: Fakes) -> (Came, String) {
    fakes.gate.delay_ms = 60_000;
    let lines = Rc::<Lines>::default();
    let mut exchange = exchange();
    exchange.request.received.sink = Some(Rc::clone(&lines) as _);
    let (came, waits, asked) = fakes.ask(&mut exchange);
    assert!(asked.iter().all(|asked| *asked == 0), "an explained request has no effect");
    assert_eq!(waits, 0);
    let told =
        lines.0.take().into_iter().map(|line| format!("{} {}: {}\n", line.topic, line.text, line.outcome));
    (came, told.collect())
}

#[test]
fn explain_reports_every_check_without_running_it() {
    let mut fakes = Fakes::new(false, &[]);
    fakes.add("first", pass, true);
    fakes.add("silent", pass, false);
    fakes.add("second", refuse, false);
    fakes.add("third", allow, false);
    let told = "access first: told\naccess second: told\naccess third: told\n";
    assert_eq!(explained(fakes), (Came::out(403), told.to_owned()));
}

#[test]
fn explain_continues_according_to_verdicts() {
    assert_eq!(explained(Fakes::new(false, &[pass, allow])).0, Came::In);
    assert_eq!(explained(Fakes::new(true, &[refuse, allow])).0, Came::In);
    assert_eq!(explained(Fakes::new(true, &[allow, refuse])).0, Came::In);
    let (came, told) = explained(Fakes::new(true, &[refuse, pass]));
    assert_eq!(came, Came::out(403));
    assert!(told.ends_with("log access forbidden by rule: \n"), "{told}");
}
