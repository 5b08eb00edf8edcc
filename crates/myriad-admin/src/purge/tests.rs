use myriad_policy::PurgeTarget;
use myriad_store::{FinishedPurge, NAME_OF_EXPIRY, PurgeError};

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
fn message_about_a_completed_purge_depends_on_its_origin() {
    let of = |name: &str, count, is_expiry| FinishedPurge { name: name.into(), number: 1, count, is_expiry };
    let text = |name: &str, count, is_listed| completion_text("pages", &of(name, count, false), is_listed);
    assert_eq!(text("all", 0, true).as_deref(), Some("purge of all in zone \"pages\": 0 pages"));
    assert_eq!(text("a/*", 1, false).as_deref(), Some("purge of a/* in zone \"pages\": 1 page"));
    assert_eq!(text("all", 0, false), None);
    // Its entry was already dropped from the list of purges, or is not yet in it.
    assert_eq!(text("all", 2, false).as_deref(), Some("purge of all in zone \"pages\": 2 pages"));
    let expired = |count| completion_text("pages", &of(NAME_OF_EXPIRY, count, true), false);
    assert_eq!(expired(0), None);
    let stale = expired(2).expect("a message");
    assert_eq!(stale, "2 pages of zone \"pages\" became stale: they may have missed a purge");
}
