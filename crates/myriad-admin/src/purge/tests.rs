use myriad_policy::PurgeTarget;
use myriad_store::PurgeError;

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
