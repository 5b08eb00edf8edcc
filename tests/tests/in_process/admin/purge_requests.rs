//! Tests of purge requests.

use std::rc::Rc;
use std::sync::Arc;

use myriad_store::page::PageZone;

use super::support::{ZONE, is_stale, is_stored, store, zone_of};
use myriad_admin::purge::own_host;
use myriad_serve::testing::TestSite;
use myriad_serve::testing::{PhaseResult, send_request};

/// Returns a site that caches pages under their path and arguments, with these purge rules, and its zone.
fn site(rules: &str) -> (TestSite, Arc<PageZone>) {
    let cached = "proxy_pass http://127.0.0.1:1; proxy_cache z; proxy_cache_key $uri$is_args$args;";
    let site = TestSite::new(ZONE, &format!("server_name own.test; location / {{ {cached} {rules} }}"));
    let zone = zone_of(&site);
    (site, zone)
}

/// Sends a request with the host `localhost`.
fn local(site: &TestSite, line: &str, fields: &[(&str, &str)]) -> PhaseResult {
    send_request(site, line, &[fields, &[("Host", "localhost")]].concat())
}

fn result(reached: &PhaseResult) -> Option<&str> {
    reached.lines.lines().find_map(|line| line.strip_prefix("Cache-Purge-Result: "))
}

#[test]
fn purge_removes_page_of_its_url_once() {
    let (site, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a?b", ("localhost", "/a?b"), "");
    store(&zone, "/a", ("localhost", "/a"), "");
    let purged = local(&site, "PURGE /a?b", &[]);
    assert_eq!((purged.status, result(&purged)), (200, Some("url; count=1")));
    assert!(purged.text.contains("<p>Key: /a?b</p>"), "{}", purged.text);
    assert!(!is_stored(&zone, "/a?b") && is_stored(&zone, "/a"));
    assert_eq!(local(&site, "PURGE /a?b", &[]).status, 412, "the page has been purged already");
}

#[test]
fn plugin_for_varnish_is_answered_in_its_words() {
    let (site, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a", ("localhost", "/a"), "");
    let purged = local(&site, "PURGE /a", &[("X-Purge-Method", "exact")]);
    assert_eq!((purged.status, purged.text.as_str()), (200, "Purged: url; count=1\n"));
    assert_eq!(local(&site, "PURGE /a", &[("X-Purge-Method", "exact")]).status, 404);
}

#[test]
fn purge_by_condition_is_answered_as_by_nginx_plus() {
    let (site, zone) = site("proxy_cache_purge $arg_purge;");
    store(&zone, "/a?purge=1", ("localhost", "/a?purge=1"), "");
    let purged = local(&site, "GET /a?purge=1", &[]);
    assert_eq!((purged.status, purged.text.as_str()), (204, ""));
    assert_eq!(local(&site, "GET /a?purge=1", &[]).status, 404);
}

#[test]
fn soft_purge_leaves_the_page_stale() {
    let (site, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a", ("localhost", "/a"), "");
    assert!(!is_stale(&zone, "/a"));
    assert_eq!(local(&site, "PURGE /a", &[("X-Soft-Purge", "1")]).status, 200);
    assert!(is_stored(&zone, "/a") && is_stale(&zone, "/a"));
}

#[test]
fn tag_takes_all_its_pages_of_whatever_host() {
    let (site, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a", ("localhost", "/a"), "news post-1");
    store(&zone, "/b", ("b.test", "/b"), "news");
    store(&zone, "/c", ("localhost", "/c"), "post-2");
    let purged = local(&site, "PURGE /", &[("Cache-Tag", "news")]);
    assert_eq!((purged.status, result(&purged)), (200, Some("tags; count=2")));
    assert!(!is_stored(&zone, "/a") && !is_stored(&zone, "/b") && is_stored(&zone, "/c"));
}

#[test]
fn star_takes_what_begins_so_on_the_host_that_is_named() {
    let (site, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a/1", ("localhost", "/a/1"), "");
    store(&zone, "/a/2", ("b.test", "/a/2"), "");
    store(&zone, "/b", ("localhost", "/b"), "");
    let purged = local(&site, "PURGE /a/*", &[]);
    assert_eq!(purged.status, 200);
    assert!(result(&purged).is_some_and(|result| result.starts_with("wildcard; ")), "{}", purged.lines);
    assert!(!is_stored(&zone, "/a/1") && is_stored(&zone, "/a/2") && is_stored(&zone, "/b"));
}

#[test]
fn purge_of_many_goes_past_locations_but_not_past_the_rules_of_the_server() {
    let cached = "proxy_pass http://127.0.0.1:1; proxy_cache z; proxy_cache_purge PURGE;";
    let rules = |server: &str| {
        let locations = format!("location / {{ {cached} }} location ~ /\\. {{ return 403; }}");
        TestSite::new(ZONE, &format!("{server} {locations}"))
    };
    let open = rules("");
    assert_eq!(local(&open, "PURGE /.*", &[]).status, 200, "a regex, not a hidden file");
    assert_eq!(local(&open, "PURGE /.a", &[]).status, 403);
    let closed = rules("if ($arg_token != secret) { return 401; }");
    assert_eq!(local(&closed, "PURGE /.*", &[]).status, 401);
}

#[test]
fn invalid_purge_is_rejected_with_reason() {
    let (site, _zone) = site("proxy_cache_purge PURGE;");
    let nonsense = local(&site, "PURGE /a", &[("X-Purge-Method", "nonsense")]);
    assert_eq!((nonsense.status, nonsense.text.as_str()), (400, "unknown X-Purge-Method\n"));
    let broken = local(&site, "PURGE /a(", &[("X-Purge-Method", "regex")]);
    assert_eq!(broken.status, 400);
    assert!(broken.text.contains("parenthes"), "{}", broken.text);
}

#[test]
fn location_purges_the_key_that_it_names_or_all_that_begin_so() {
    let site = TestSite::new(ZONE, "location ~ ^/purge(/.*) { proxy_cache_purge z $1; }");
    let zone = zone_of(&site);
    for key in ["/a", "/b/1", "/b/2"] {
        store(&zone, key, ("localhost", key), "");
    }
    let purged = local(&site, "GET /purge/a", &[]);
    assert_eq!((purged.status, result(&purged)), (200, Some("key; count=1")));
    assert_eq!(local(&site, "GET /purge/a", &[]).status, 404);
    assert_eq!(local(&site, "GET /purge/b/*", &[]).status, 200);
    assert!(!is_stored(&zone, "/b/1") && !is_stored(&zone, "/b/2"));
    let long = format!("GET /purge/{}*", "x".repeat(5000));
    assert_eq!(local(&site, &long, &[]).status, 400);
}

#[test]
fn unauthorized_clients_may_not_purge() {
    let (loopback, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a", ("localhost", "/a"), "");
    let passed_on = local(&loopback, "PURGE /a", &[("X-Forwarded-For", "192.0.2.1")]);
    assert_eq!(passed_on.status, 403, "a proxy on the same machine is not trusted by default");
    let (elsewhere, _) = site("proxy_cache_purge PURGE from 192.0.2.0/24;");
    assert_eq!(local(&elsewhere, "PURGE /a", &[]).status, 403);
    let (named, _) = site("proxy_cache_purge PURGE from 127.0.0.0/8;");
    assert_eq!(
        local(&named, "PURGE /a", &[("X-Forwarded-For", "192.0.2.1")]).status,
        412,
        "an explicit address is trusted"
    );
    assert!(is_stored(&zone, "/a"));
}

#[test]
fn page_of_another_site_may_not_have_a_browser_purge() {
    let (site, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a", ("localhost", "/a"), "");
    for field in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("Origin", "http://evil.test"),
        ("Origin", "null"),
        ("Origin", "https://localhost"),
    ] {
        assert_eq!(local(&site, "PURGE /a", &[field]).status, 403, "{field:?}");
    }
    let rebound = send_request(&site, "PURGE /a", &[("Host", "evil.test"), ("Origin", "http://evil.test")]);
    assert_eq!(rebound.status, 403, "a foreign host name that resolves to this server (DNS rebinding)");
    let own = [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://localhost")];
    assert_eq!(local(&site, "PURGE /a", &own).status, 200);
}

#[test]
fn link_on_another_site_purges_nothing() {
    let site = TestSite::new(
        ZONE,
        "server_name own.test; location /key { proxy_cache_purge z $arg_k; }
         location /url { proxy_cache_purge z url /a; }",
    );
    let status = |line: &str, fields: &[(&str, &str)]| send_request(&site, line, fields).status;
    assert_eq!(status("GET /key?k=x", &[("Host", "own.test"), ("Referer", "http://evil.test/")]), 403);
    assert_eq!(status("GET /key?k=x", &[("Host", "own.test"), ("Referer", "http://own.test/p")]), 404);
    assert_eq!(
        status("GET /key?k=x", &[("Host", "evil.test")]),
        403,
        "arbitrary keys are refused for unknown host names"
    );
    assert_eq!(status("GET /url", &[("Host", "evil.test")]), 404, "a URL of that name has no pages");
    assert_eq!(
        status("DELETE /key?k=x", &[("Host", "evil.test")]),
        404,
        "a link cannot make a browser send DELETE"
    );
}

#[test]
fn only_own_names_and_loopback_count_as_own_host() {
    let site = TestSite::new("", "server_name own.test *.own.test;");
    let is_known = |host: &str| {
        let mut exchange = site.exchange("/", &[]);
        exchange.request.route.host = host.into();
        own_host::is_known(&exchange.request)
    };
    for host in
        ["", "localhost", "own.test", "www.own.test", "127.0.0.1", "127.3.2.1", "[::1]", "[::ffff:127.0.0.1]"]
    {
        assert!(is_known(host), "{host}");
    }
    for host in ["evil.test", "own.test.evil.test", "192.0.2.1", "[2001:db8::1]"] {
        assert!(!is_known(host), "{host}");
    }
}

#[test]
fn answer_names_the_key_as_the_place_wants_it() {
    let answer_for = |style: &str| {
        let (site, zone) = site(&format!("proxy_cache_purge PURGE; cache_purge_response_type {style};"));
        store(&zone, "/a?<\"b", ("localhost", "/a?<\"b"), "");
        local(&site, "PURGE /a?<\"b", &[]).text
    };
    assert_eq!(answer_for("text"), "Key: /a?<\"b\n");
    assert_eq!(answer_for("json"), "{\"Key\":\"/a?<\\\"b\"}\n");
    assert!(answer_for("xml").contains("<Key>/a?&lt;&quot;b</Key>"));
    assert!(answer_for("html").contains("Key: /a?&lt;&quot;b"));
}

#[test]
fn purge_that_is_only_explained_takes_nothing() {
    #[derive(Default)]
    struct CollectedLines(std::cell::RefCell<Vec<String>>);
    impl myriad_exchange::exchange::DecisionSink for CollectedLines {
        fn take(&self, line: myriad_exchange::exchange::ExplainedDecision) {
            self.0.borrow_mut().push(format!("{line:?}"));
        }
    }
    let (site, zone) = site("proxy_cache_purge PURGE;");
    store(&zone, "/a", ("localhost", "/a"), "");
    let fields = [("Host", "localhost")];
    let mut exchange = site.received_request(myriad_http::HttpVersion::Http11, ("PURGE", "/a"), &fields);
    let lines = Rc::new(CollectedLines::default());
    exchange.request.received.sink = Some(Rc::clone(&lines) as _);
    let reached = myriad_serve::testing::run_exchange(exchange);
    assert_eq!((reached.status, reached.waited), (200, false));
    assert!(lines.0.borrow().iter().any(|line| line.contains("purge") && line.contains("zone z")));
    assert!(is_stored(&zone, "/a"));
}
