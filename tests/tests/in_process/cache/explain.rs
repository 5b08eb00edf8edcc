//! Tests of the decisions of the cache in explanations.

use std::cell::RefCell;
use std::rc::Rc;

use myriad_exchange::exchange::{DecisionSink, ExplainedDecision};
use myriad_serve::testing::immediate_answer;

use super::support::CacheTestSite;
use super::test_origin::TestOrigin;

#[derive(Default)]
struct ExplainedLines(RefCell<Vec<String>>);

impl DecisionSink for ExplainedLines {
    fn take(&self, line: ExplainedDecision) {
        self.0.borrow_mut().push(format!("{} {} {}", line.topic, line.text, line.outcome));
    }
}

/// Returns the lines about the cache in the explanation of a request, such as `GET /path`.
fn explained(site: &CacheTestSite, request: &str) -> Vec<String> {
    let mut exchange = site.begin(request, &[]);
    let lines = Rc::new(ExplainedLines::default());
    exchange.request.received.sink = Some(Rc::clone(&lines) as _);
    assert!(immediate_answer(&mut exchange).is_none(), "the explanation ends before the origin is asked");
    lines.0.take().into_iter().filter(|line| line.starts_with("cache ")).collect()
}

#[test]
fn miss_reports_zone_key_and_storability_without_fetching() {
    let site = CacheTestSite::new("proxy_cache_valid 200 1h; proxy_cache_lock on;");
    for _ in 0..2 {
        let explanation = explained(&site, "GET /a");
        assert_eq!(explanation[..3], ["cache zone ONE ", "cache key localhost/a", "cache read yes"]);
        assert_eq!(explanation[3], "cache store yes: 200 for 1h");
    }
    assert_eq!(site.begin("GET /a", &[]).request.site.worker.counters.misses.get(), 0);
    assert!(site.origin.requests().is_empty());
}

#[test]
fn bypassed_request_reports_reason_without_key() {
    let explanation = explained(&CacheTestSite::new(""), "DELETE /a");
    let why = "no: the method DELETE is not among *_cache_methods";
    assert_eq!(
        explanation,
        ["cache zone ONE ".to_owned(), format!("cache read {why}"), format!("cache store {why}")]
    );
}

#[test]
fn conditions_report_matching_value() {
    let site = CacheTestSite::new("proxy_cache_bypass $arg_a $arg_b; proxy_no_cache $arg_b;");
    let explanation = explained(&site, "GET /a?b=7");
    let expected = ["cache key localhost/a?b=7", "cache read no: *_cache_bypass: $arg_b is \"7\""];
    assert_eq!(explanation[1..3], expected);
    assert_eq!(explanation[3], "cache store no: *_no_cache: $arg_b is \"7\"");
}

#[test]
fn request_shared_by_condition_gets_no_lifetime_from_the_configuration() {
    let rules = "proxy_cache_bypass $arg_a; proxy_no_cache $arg_a $arg_b; proxy_cache_share $arg_c;";
    let site = CacheTestSite::new(&format!("{rules} proxy_cache_valid any 1h;"));
    let no = "no: *_no_cache: $arg_b is \"1\"";
    for (request, expected) in [
        ("GET /a", "yes: any below 500 (except errors of the request, such as 400) for 1h"),
        ("GET /a?a=1&c=1", "yes: responses that specify a lifetime"),
        ("GET /a?b=1", no),
        ("GET /a?b=1&c=1", no),
    ] {
        assert!(explained(&site, request).contains(&format!("cache store {expected}")), "{request}");
    }
}

#[test]
fn stale_page_that_would_be_refreshed_stays_as_it_is() {
    let site = CacheTestSite::new("proxy_cache_use_stale updating; proxy_cache_background_update on;");
    site.store_stale("/a");
    let explanation = explained(&site, "GET /a");
    assert_eq!(
        explanation.last().map(String::as_str),
        Some("cache page served stale, and refreshed in the background")
    );
    let page = site.page("/a").expect("a page");
    assert!(!page.is_updating(myriad_net::clock::now_ms()));
    assert!(site.zone().fetches.try_begin().is_some());
}

#[test]
fn location_without_cache_is_reported() {
    let site = CacheTestSite::of(TestOrigin::start(), "fastcgi_pass unix:/nowhere/php.sock;", "");
    assert_eq!(explained(&site, "GET /a"), ["cache not configured: every request is sent to the origin "]);
}
