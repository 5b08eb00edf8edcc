//! Tests of the execution of purges.

use std::sync::Arc;

use myriad_policy::{PurgeCommand, PurgeTarget, Tags};
use myriad_store::page::{PageZone, PurgeSource};

use super::support::{ZONE, is_stale, is_stored, store, zone_of};
use myriad_admin::purge::{PurgeResult, invalidate, run, run_all, run_in};
use myriad_serve::testing::{TestSite, block_on};

fn zone() -> Arc<PageZone> {
    zone_of(&TestSite::new(ZONE, "location / { proxy_pass http://127.0.0.1:1; proxy_cache z; }"))
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
    block_on(invalidate(&zone, vec![PurgeTarget::url(b"a.test/a").expect("a URL")])).expect("a purge");
    assert!(is_stored(&zone, "/a") && is_stale(&zone, "/a") && !is_stale(&zone, "/b"));
}
