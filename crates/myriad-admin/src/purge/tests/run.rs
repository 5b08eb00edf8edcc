use std::sync::Arc;

use myriad_policy::{PurgeCommand, PurgeTarget, Tags};
use myriad_store::PurgeError;
use myriad_store::page::{PageZone, PurgeSource};

use crate::purge::testing::{ZONE, is_stale, is_stored, store, zone_of};
use crate::purge::{PurgeFailure, PurgeResult, check, invalidate, run, run_all, run_in, shorten_name};
use myriad_serve::testing::{TestSite, block_on};

fn zone() -> Arc<PageZone> {
    zone_of(&TestSite::new(ZONE, "location / { proxy_pass http://127.0.0.1:1; proxy_cache z; }"))
}

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
fn purge_of_all_and_of_a_host_run_over_every_zone() {
    let one = zone();
    let two = zone();
    for zone in [&one, &two] {
        store(zone, "/a", ("a.test", "/a"), "");
        store(zone, "/b", ("b.test", "/b"), "");
    }
    let zones = [Arc::clone(&one), Arc::clone(&two)];
    block_on(run(
        &zones,
        &PurgeCommand::hard(PurgeTarget::Host((*b"a.test").into())),
        &[],
        PurgeSource::Request,
    ))
    .expect("a purge");
    for zone in &zones {
        assert!(!is_stored(zone, "/a") && is_stored(zone, "/b"));
    }
    block_on(run(&zones, &PurgeCommand::hard(PurgeTarget::All), &[], PurgeSource::Request)).expect("a purge");
    assert!(!is_stored(&one, "/b") && !is_stored(&two, "/b"));
}

#[test]
fn purge_of_a_key_takes_the_page_of_other_codings_too() {
    let zone = zone();
    store(&zone, "/a", ("a.test", "/a"), "");
    store(&zone, "/a\0codings", ("a.test", "/a"), "");
    let command = PurgeCommand::hard(PurgeTarget::Keys(vec![(*b"/a").into()]));
    let made = block_on(run_in(&zone, &command, &[], PurgeSource::Request)).expect("a purge");
    assert_eq!(made.outcome, PurgeResult::Done(2));
    assert!(!is_stored(&zone, "/a\0codings"));
}

#[test]
fn purges_from_one_origin_response_each_run_in_own_mode() {
    let zone = zone();
    store(&zone, "/a", ("a.test", "/a"), "");
    store(&zone, "/b", ("b.test", "/b"), "t");
    store(&zone, "/c", ("c.test", "/c"), "");
    let commands = [
        PurgeCommand { what: PurgeTarget::url(b"a.test/a").expect("a URL"), soft: true },
        PurgeCommand::hard(PurgeTarget::Tags(Tags::parse(b"t"))),
        PurgeCommand::hard(PurgeTarget::Host((*b"c.test").into())),
    ];
    block_on(run_all(&zone, &commands)).expect("purges");
    assert!(is_stored(&zone, "/a") && is_stale(&zone, "/a"));
    assert!(!is_stored(&zone, "/b") && !is_stored(&zone, "/c"));
}

#[test]
fn invalidated_page_stays_to_stand_in_for_a_fetch_that_fails() {
    let zone = zone();
    store(&zone, "/a", ("a.test", "/a"), "");
    store(&zone, "/b", ("a.test", "/b"), "");
    block_on(invalidate(&zone, &[PurgeTarget::url(b"a.test/a").expect("a URL")])).expect("a purge");
    assert!(is_stored(&zone, "/a") && is_stale(&zone, "/a") && !is_stale(&zone, "/b"));
}
