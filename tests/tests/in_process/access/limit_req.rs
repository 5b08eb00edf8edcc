//! Tests of `limit_req`.

use super::support::{GateResult, ask};
use myriad_exchange::exchange::{Exchange, LimitResults, LimitStatus};
use myriad_serve::testing::TestSite;
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables};

const ZONE: &str = "limit_req_zone $arg_key zone=one:1m rate=1r/m;";

fn status(exchange: &Exchange) -> Option<LimitStatus> {
    exchange
        .request
        .outcome
        .limit_results
        .as_ref()
        .and_then(|visit: &std::rc::Rc<LimitResults>| visit.requests.get())
}

/// Returns the results of consecutive requests for these targets, each with its limit status.
fn statuses(site: &TestSite, targets: &[&str]) -> Vec<(GateResult, Option<LimitStatus>)> {
    let came = targets.iter().map(|target| {
        let mut exchange = site.exchange(target, &[]);
        let came = ask(&mut exchange).result;
        (came, status(&exchange))
    });
    came.collect()
}

const PASSED: (GateResult, Option<LimitStatus>) = (GateResult::Admitted, Some(LimitStatus::Passed));

fn rejected(status: u16) -> (GateResult, Option<LimitStatus>) {
    (GateResult::out(status), Some(LimitStatus::Rejected))
}

#[test]
fn each_key_has_its_burst_and_no_more() {
    let site = TestSite::new(ZONE, "limit_req zone=one burst=1 nodelay;");
    let came = statuses(&site, &["/?key=a", "/?key=a", "/?key=a", "/?key=b"]);
    assert_eq!(came, [PASSED, PASSED, rejected(503), PASSED]);
}

#[test]
fn refusal_has_the_status_that_is_written() {
    let site = TestSite::new(ZONE, "limit_req zone=one; limit_req_status 429;");
    assert_eq!(statuses(&site, &["/?key=a", "/?key=a"]), [PASSED, rejected(429)]);
}

#[test]
fn request_without_a_key_or_with_too_long_a_key_is_not_counted() {
    let site = TestSite::new(ZONE, "limit_req zone=one;");
    let long = format!("/?key={}", "x".repeat(65_536));
    for _ in 0..3 {
        assert_eq!(
            statuses(&site, &["/", &long]),
            [(GateResult::Admitted, None), (GateResult::Admitted, None)]
        );
    }
    let longest = &long[..long.len() - 1];
    assert_eq!(statuses(&site, &[longest, longest]), [PASSED, rejected(503)]);
}

#[test]
fn request_beyond_the_rate_waits_until_its_turn() {
    let site = TestSite::new(
        "limit_req_zone $arg_key zone=one:1m rate=50r/s;",
        "limit_req zone=one burst=5; location /delay { limit_req zone=one burst=5 delay=1; }",
    );
    let began = std::time::Instant::now();
    let mut waits = Vec::new();
    for _ in 0..3 {
        let mut exchange = site.exchange("/?key=a", &[]);
        let asked = ask(&mut exchange);
        assert_eq!(asked.result, GateResult::Admitted);
        waits.push((asked.waits, status(&exchange)));
    }
    assert_eq!(waits[0], (0, Some(LimitStatus::Passed)));
    assert_eq!(waits[1], (1, Some(LimitStatus::Delayed)));
    // Two requests after the first, at 20 ms each, minus the milliseconds in which they arrived.
    assert!(began.elapsed().as_millis() >= 35, "{:?}", began.elapsed());
    let waits = [(); 2].map(|()| ask(&mut site.exchange("/delay?key=b", &[])).waits);
    assert_eq!(waits, [0, 0], "one request beyond the rate need not wait");
}

#[test]
fn dry_run_records_delay_and_rejection_and_admits_requests() {
    let site = TestSite::new(ZONE, "limit_req zone=one burst=1; limit_req_dry_run on;");
    let came = statuses(&site, &["/?key=a", "/?key=a", "/?key=a"]);
    let dry = |status| (GateResult::Admitted, Some(status));
    assert_eq!(came, [PASSED, dry(LimitStatus::DelayedDryRun), dry(LimitStatus::RejectedDryRun)]);
}

#[test]
fn request_counts_nowhere_where_one_of_its_limits_refuses_it() {
    let zones = "limit_req_zone $arg_a zone=a:1m rate=1r/m; limit_req_zone $arg_b zone=b:1m rate=1r/m;";
    for limits in ["limit_req zone=a; limit_req zone=b;", "limit_req zone=b; limit_req zone=a;"] {
        let site = TestSite::new(zones, limits);
        assert_eq!(
            statuses(&site, &["/?a=1&b=1", "/?a=2&b=1", "/?a=2&b=2"]),
            [PASSED, rejected(503), PASSED]
        );
        assert_eq!(statuses(&site, &["/?a=2", "/?b=3"]), [rejected(503), PASSED]);
    }
}

#[test]
fn request_is_asked_once_wherever_it_is_redirected_to() {
    let site = TestSite::new(ZONE, "limit_req zone=one;");
    let mut exchange = site.exchange("/?key=a", &[]);
    assert_eq!(ask(&mut exchange).result, GateResult::Admitted);
    assert_eq!(ask(&mut exchange).result, GateResult::Admitted);
    let mut child = exchange.child(b"/", b"key=a").expect("the first subrequest");
    assert_eq!(ask(&mut child).result, GateResult::Admitted, "a subrequest shares the result of its parent");
    assert_eq!(ask(&mut site.exchange("/?key=a", &[])).result, GateResult::out(503));
}

#[test]
fn error_page_of_a_refused_request_is_not_refused_again() {
    let site = TestSite::new(ZONE, "limit_req zone=one;");
    assert_eq!(ask(&mut site.exchange("/?key=a", &[])).result, GateResult::Admitted);
    let mut exchange = site.exchange("/?key=a", &[]);
    assert_eq!(ask(&mut exchange).result, GateResult::out(503));
    assert_eq!(ask(&mut exchange).result, GateResult::Admitted);
}

#[test]
fn zone_without_room_for_a_key_refuses_it() {
    let site = TestSite::new("limit_req_zone $arg_key zone=one:32k rate=1r/m;", "limit_req zone=one;");
    let long = format!("/?key={}", "x".repeat(40_000));
    assert_eq!(statuses(&site, &[&long, "/?key=a"]), [rejected(503), PASSED]);
}

#[test]
fn the_check_shows_what_it_came_to() {
    let mut exchange = VariableCase::default().begin();
    assert_unset(&mut exchange, &["limit_req_status"]);
    exchange.request.limit_results().requests.set(Some(LimitStatus::Passed));
    assert_variables(&mut exchange, &[("limit_req_status", "PASSED")]);
}
