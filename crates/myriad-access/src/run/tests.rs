use super::{CheckVerdict, GateProgress};
use myriad_exchange::exchange::{AccessGate, PhaseStep};

fn gate(any: bool) -> AccessGate {
    AccessGate { checks: Vec::new(), any, delay_ms: 0 }
}

/// Returns the combined result of the verdicts: the status of the rejection, and the challenges.
fn come_to(any: bool, verdicts: Vec<CheckVerdict>) -> (Option<u16>, String) {
    let mut progress = GateProgress::default();
    for verdict in verdicts {
        match progress.apply_verdict(&gate(any), verdict) {
            Some(PhaseStep::Error(status)) => return (Some(status), String::new()),
            Some(_) => panic!("only an error ends the checks"),
            None if progress.decided => break,
            None => {}
        }
    }
    (progress.refused, String::from_utf8(progress.challenges.join(&b", "[..])).unwrap())
}

fn challenge() -> CheckVerdict {
    CheckVerdict::Challenge(vec![b"Basic realm=\"x\"".to_vec()])
}

const VALUE: &str = "Basic realm=\"x\"";

#[test]
fn all_checks_must_let_in() {
    assert_eq!(
        come_to(false, vec![CheckVerdict::Allow, CheckVerdict::Allow, CheckVerdict::Pass]),
        (None, String::new())
    );
    assert_eq!(
        come_to(false, vec![CheckVerdict::Refuse(403), CheckVerdict::Allow]),
        (Some(403), String::new())
    );
    assert_eq!(come_to(false, vec![CheckVerdict::Allow, challenge()]), (Some(401), VALUE.into()));
    assert_eq!(come_to(false, vec![challenge(), CheckVerdict::Allow]), (Some(401), VALUE.into()));
}

#[test]
fn one_check_that_lets_in_satisfies_any() {
    assert_eq!(come_to(true, vec![CheckVerdict::Allow, challenge()]), (None, String::new()));
    assert_eq!(come_to(true, vec![CheckVerdict::Refuse(403), CheckVerdict::Allow]), (None, String::new()));
    assert_eq!(come_to(true, vec![challenge(), CheckVerdict::Allow]), (None, String::new()));
    assert_eq!(
        come_to(true, vec![CheckVerdict::Pass, CheckVerdict::Pass, CheckVerdict::Pass]),
        (None, String::new())
    );
}

#[test]
fn a_challenge_outweighs_a_plain_refusal() {
    assert_eq!(come_to(true, vec![CheckVerdict::Refuse(403), challenge()]), (Some(401), VALUE.into()));
    assert_eq!(come_to(true, vec![challenge(), CheckVerdict::Refuse(403)]), (Some(401), VALUE.into()));
}

#[test]
fn a_failure_ends_the_checks_whatever_satisfies() {
    assert_eq!(come_to(true, vec![CheckVerdict::Fail(500), CheckVerdict::Allow]), (Some(500), String::new()));
    assert_eq!(
        come_to(false, vec![CheckVerdict::Fail(503), CheckVerdict::Refuse(403)]),
        (Some(503), String::new())
    );
}
