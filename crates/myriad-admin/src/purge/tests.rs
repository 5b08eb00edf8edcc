use myriad_policy::PurgeTarget;
use myriad_store::{FinishedPurge, PurgeError};

use super::run::completion_text;
use super::{PurgeFailure, PurgeResult, check, shorten_name};

#[test]
fn outcomes_of_several_zones_are_merged() {
    use PurgeResult::{Accepted, AtLeast, Done};
    assert_eq!(Done(1).and(Done(2)), Done(3));
    assert_eq!(Done(1).and(AtLeast(2)), AtLeast(3));
    assert_eq!(AtLeast(1).and(Done(2)), AtLeast(3));
    assert_eq!(Done(1).and(Accepted), Accepted);
    assert_eq!(Accepted.and(AtLeast(1)), Accepted);
}

#[test]
fn name_in_the_log_is_cut_between_characters() {
    let mut short = "x".repeat(500);
    shorten_name(&mut short);
    assert_eq!(short.len(), 500);
    let mut long = format!("x{}", "é".repeat(300));
    shorten_name(&mut long);
    assert_eq!(long, format!("x{}...", "é".repeat(249)));
}

#[test]
fn pattern_is_checked_before_anything_is_purged() {
    assert!(check(&PurgeTarget::All).is_ok());
    assert!(check(&PurgeTarget::url(b"http://a.test/").expect("a URL")).is_ok());
    assert!(check(&PurgeTarget::regex(None, b"^/a").expect("short")).is_ok());
    assert!(check(&PurgeTarget::regex(None, b"(").expect("short")).is_err());
}

#[test]
fn purge_refusal_states_reason_and_remedy() {
    assert_eq!(PurgeFailure::from(PurgeError::Rule).to_string(), "the pattern is too long");
    assert!(PurgeFailure::from(PurgeError::TooMany).to_string().contains("try again"));
    let full = std::io::Error::other("disk full");
    let unlogged = PurgeFailure::from(PurgeError::Unlogged(full)).to_string();
    assert!(unlogged.starts_with("the purge is in effect") && unlogged.ends_with("disk full"), "{unlogged}");
    assert_eq!(PurgeFailure::NoZone("x".to_owned()).to_string(), "unknown cache zone \"x\"");
}

#[test]
fn pages_that_became_stale_without_a_purge_are_not_reported_as_a_purge() {
    let text = |name: &str, count, is_listed| {
        completion_text("pages", &FinishedPurge { name: name.into(), number: 1, count }, is_listed)
    };
    assert_eq!(text("all", 0, true).as_deref(), Some("purge of all in zone \"pages\": 0 pages"));
    assert_eq!(text("a/*", 1, false).as_deref(), Some("purge of a/* in zone \"pages\": 1 page"));
    assert_eq!(text("all", 0, false), None);
    let stale = text("all", 2, false).expect("a message");
    assert!(stale.starts_with("2 pages of zone \"pages\" became stale"), "{stale}");
}
