use super::{Progress, Stage, Verdict};
use crate::content::Step;
use crate::runtime::Gate;

fn gate(any: bool) -> Gate {
    Gate {
        any,
        requests: None,
        connections: None,
        networks: Vec::new(),
        basic: None,
        auth_request: None,
        delay_ms: 0,
    }
}

/// What the checks come to: the status that keeps the visitor out, and the challenges.
fn come_to(any: bool, verdicts: Vec<Verdict>) -> (Option<u16>, String) {
    let mut progress = Progress { stage: Stage::Networks, refused: None, challenges: Vec::new() };
    for verdict in verdicts {
        match progress.hear(&gate(any), verdict) {
            Some(Step::Error(status)) => return (Some(status), String::new()),
            Some(_) => panic!("only an error ends the checks"),
            None if progress.stage == Stage::End => break,
            None => {}
        }
    }
    (progress.refused, String::from_utf8(progress.challenges).unwrap())
}

fn challenge() -> Verdict {
    Verdict::Challenge(b"Basic realm=\"x\"".to_vec())
}

const CHALLENGE: &str = "WWW-Authenticate: Basic realm=\"x\"\r\n";

#[test]
fn all_checks_must_let_in() {
    assert_eq!(come_to(false, vec![Verdict::Allow, Verdict::Allow, Verdict::Pass]), (None, String::new()));
    assert_eq!(come_to(false, vec![Verdict::Refuse(403), Verdict::Allow]), (Some(403), String::new()));
    assert_eq!(come_to(false, vec![Verdict::Allow, challenge()]), (Some(401), CHALLENGE.into()));
    assert_eq!(come_to(false, vec![challenge(), Verdict::Allow]), (Some(401), CHALLENGE.into()));
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
    assert_eq!(come_to(true, vec![Verdict::Refuse(403), challenge()]), (Some(401), CHALLENGE.into()));
    assert_eq!(come_to(true, vec![challenge(), Verdict::Refuse(403)]), (Some(401), CHALLENGE.into()));
}

#[test]
fn a_failure_ends_the_checks_whatever_satisfies() {
    assert_eq!(come_to(true, vec![Verdict::Fail(500), Verdict::Allow]), (Some(500), String::new()));
}
