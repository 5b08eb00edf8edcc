//! Tests of `limit_conn`.

use super::support::{GateResult, ask};
use myriad_exchange::exchange::{Exchange, LimitStatus};
use myriad_serve::testing::TestSite;
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables};

const ZONE: &str = "limit_conn_zone $arg_key zone=one:1m;";

fn status(exchange: &Exchange) -> Option<LimitStatus> {
    exchange.request.outcome.limit_results.as_ref().and_then(|visit| visit.connections.get())
}

/// Returns a request after its gate, and the result of the gate.
fn asked(site: &TestSite, target: &str) -> (Box<Exchange>, GateResult) {
    let mut exchange = site.exchange(target, &[]);
    let came = ask(&mut exchange).result;
    (exchange, came)
}

#[test]
fn request_counts_until_it_is_over() {
    let site = TestSite::new(ZONE, "limit_conn one 2;");
    let (first, came) = asked(&site, "/?key=a");
    assert_eq!((came, status(&first)), (GateResult::Admitted, Some(LimitStatus::Passed)));
    let (_second, came) = asked(&site, "/?key=a");
    assert_eq!(came, GateResult::Admitted);
    let (third, came) = asked(&site, "/?key=a");
    assert_eq!((came, status(&third)), (GateResult::out(503), Some(LimitStatus::Rejected)));
    assert_eq!(asked(&site, "/?key=b").1, GateResult::Admitted);
    drop(first);
    assert_eq!(asked(&site, "/?key=a").1, GateResult::Admitted);
}

#[test]
fn what_is_held_outlives_the_request_in_its_subrequests() {
    let site = TestSite::new(ZONE, "limit_conn one 1;");
    let (mut parent, _) = asked(&site, "/?key=a");
    let mut child = parent.child(b"/", b"key=a").expect("the first subrequest");
    drop(parent);
    assert_eq!(ask(&mut child).result, GateResult::Admitted, "a subrequest is counted with its parent");
    assert_eq!(asked(&site, "/?key=a").1, GateResult::out(503));
    drop(child);
    assert_eq!(asked(&site, "/?key=a").1, GateResult::Admitted);
}

#[test]
fn full_zone_gives_back_what_the_other_zones_had_counted() {
    let zones = "limit_conn_zone $arg_a zone=a:1m; limit_conn_zone $arg_b zone=b:1m;";
    let site = TestSite::new(zones, "limit_conn a 1; limit_conn b 1;");
    let (_first, came) = asked(&site, "/?b=1");
    assert_eq!(came, GateResult::Admitted);
    let (_refused, came) = asked(&site, "/?a=1&b=1");
    assert_eq!(came, GateResult::out(503));
    assert_eq!(asked(&site, "/?a=1").1, GateResult::Admitted, "a rejected request is counted in no zone");
}

#[test]
fn request_without_a_key_or_with_too_long_a_key_is_not_counted() {
    let site = TestSite::new(ZONE, "limit_conn one 1;");
    let long = format!("/?key={}", "x".repeat(256));
    for target in ["/", &long] {
        let held = [(); 3].map(|()| asked(&site, target));
        assert!(
            held.iter().all(|(exchange, came)| *came == GateResult::Admitted && status(exchange).is_none())
        );
    }
    let longest = &long[..long.len() - 1];
    let _held = asked(&site, longest);
    assert_eq!(asked(&site, longest).1, GateResult::out(503));
}

#[test]
fn dry_run_records_rejection_and_admits_request() {
    let site = TestSite::new(ZONE, "limit_conn one 1; limit_conn_dry_run on; limit_conn_status 429;");
    let _first = asked(&site, "/?key=a");
    let (second, came) = asked(&site, "/?key=a");
    assert_eq!((came, status(&second)), (GateResult::Admitted, Some(LimitStatus::RejectedDryRun)));
}

#[test]
fn refusal_has_the_status_that_is_written() {
    let site = TestSite::new(ZONE, "limit_conn one 1; limit_conn_status 429;");
    let _first = asked(&site, "/?key=a");
    assert_eq!(asked(&site, "/?key=a").1, GateResult::out(429));
}

#[test]
fn request_is_counted_once_wherever_it_is_redirected_to() {
    let site = TestSite::new(ZONE, "limit_conn one 2; location /other { limit_conn one 2; }");
    let (mut exchange, _) = asked(&site, "/?key=a");
    assert_eq!(ask(&mut exchange).result, GateResult::Admitted);
    let (_second, came) = asked(&site, "/other?key=a");
    assert_eq!(came, GateResult::Admitted);
    assert_eq!(asked(&site, "/?key=a").1, GateResult::out(503));
}

#[test]
fn the_check_shows_what_it_came_to() {
    let mut exchange = VariableCase::default().begin();
    assert_unset(&mut exchange, &["limit_conn_status"]);
    exchange.request.limit_results().connections.set(Some(LimitStatus::Rejected));
    assert_variables(&mut exchange, &[("limit_conn_status", "REJECTED")]);
}
