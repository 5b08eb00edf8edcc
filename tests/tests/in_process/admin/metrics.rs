//! Tests of the metrics in the formats of Prometheus and OpenMetrics.

use std::collections::{HashMap, HashSet};

use myriad_admin::metrics::{MetricsFormat, metrics_page};
use myriad_exchange::counting;
use myriad_net::SentReport;
use myriad_policy::CacheStatus;
use myriad_serve::testing::{TestSite, send_request};

const CACHED: &str = "proxy_cache_path /nowhere/cache keys_zone=pages:1m; upstream php { server 127.0.0.1:9; server 127.0.0.1:10 backup; }";
const SERVER: &str = "server_name a.test; status_zone \"a\\\"b\";
    location /metrics { metrics; }
    location / { status_zone rest; proxy_cache pages; proxy_pass http://php; }";

fn finish(site: &TestSite, status: u16, cache: Option<CacheStatus>, took_us: u64) {
    let mut exchange = site.exchange("/page", &[]);
    counting::begin(&exchange.request);
    let request = &mut exchange.request;
    request.outcome.finished_us = request.received.at_us + took_us;
    request.outcome.finished_ms = request.outcome.finished_us / 1000;
    request.outcome.sent =
        SentReport { status, bytes: 1000, body_bytes: 800, request_bytes: 100, ..SentReport::default() };
    request.cache.report.status = cache;
    counting::end(&mut exchange);
}

fn page(site: &TestSite, form: MetricsFormat) -> String {
    metrics_page(&site.exchange("/metrics", &[]).request.site.runtime, form)
}

/// Parses a page and returns its values by series. Asserts that the page follows the format strictly.
fn read(text: &str, form: MetricsFormat) -> HashMap<String, f64> {
    let (mut values, mut family, mut kinds) = (HashMap::new(), String::new(), HashSet::new());
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("# TYPE ") {
            let (name, kind) = head.split_once(' ').expect("a kind");
            assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
            assert!(kinds.insert(name.to_owned()), "duplicate family: {name}");
            family = if form == MetricsFormat::OpenMetrics && kind == "counter" {
                format!("{name}_total")
            } else {
                name.to_owned()
            };
        } else if !line.starts_with('#') {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            let name = series.split('{').next().expect("a name");
            let is_of = name == family
                || name.strip_prefix(&family).is_some_and(|end| matches!(end, "_bucket" | "_sum" | "_count"));
            assert!(is_of, "{line} within {family}");
            let value: f64 = value.parse().expect("a number");
            assert!(values.insert(series.to_owned(), value).is_none(), "duplicate series: {series}");
        }
    }
    assert_eq!(text.ends_with("# EOF\n"), form == MetricsFormat::OpenMetrics);
    values
}

#[test]
fn counters_appear_in_both_exposition_formats() {
    let site = TestSite::new(CACHED, SERVER);
    finish(&site, 200, Some(CacheStatus::Hit), 40);
    finish(&site, 200, Some(CacheStatus::Hit), 260);
    finish(&site, 404, None, 3_000_000);
    finish(&site, 0, None, 10);
    for form in [MetricsFormat::Prometheus, MetricsFormat::OpenMetrics] {
        let values = read(&page(&site, form), form);
        for (series, expected) in [
            (r#"responses_total{code="200"}"#, 2.0),
            (r#"responses_total{code="404"}"#, 1.0),
            ("requests_discarded_total", 1.0),
            ("received_bytes_total", 400.0),
            (r#"requests_total{version="HTTP/1.1",tls="no"}"#, 4.0),
            (r#"visitor_requests_total{bot="unknown"}"#, 4.0),
            (r#"request_seconds_bucket{cache="hit",le="0.00005"}"#, 1.0),
            (r#"request_seconds_bucket{cache="hit",le="0.00025"}"#, 1.0),
            (r#"request_seconds_bucket{cache="hit",le="0.0005"}"#, 2.0),
            (r#"request_seconds_bucket{cache="hit",le="+Inf"}"#, 2.0),
            (r#"request_seconds_sum{cache="hit"}"#, 0.0003),
            (r#"request_seconds_count{cache="none"}"#, 1.0),
            (r#"request_seconds_bucket{cache="none",le="2.5"}"#, 0.0),
            (r#"request_seconds_bucket{cache="none",le="5.0"}"#, 1.0),
            (r#"saved_bytes_total{by="cache"}"#, 1600.0),
            (r#"server_requests_total{server_zone="a\"b"}"#, 4.0),
            (r#"server_requests_processing{server_zone="a\"b"}"#, 0.0),
            (r#"server_responses_total{server_zone="a\"b",code="2xx"}"#, 2.0),
            (r#"server_discarded_total{server_zone="a\"b"}"#, 1.0),
            (r#"location_requests_total{location_zone="rest"}"#, 4.0),
            (r#"location_sent_bytes_total{location_zone="rest"}"#, 4000.0),
            (r#"cache_requests_total{zone="pages",cache="hit"}"#, 2.0),
            (r#"cache_body_bytes_total{zone="pages",cache="hit"}"#, 1600.0),
            (r#"cache_pages{zone="pages",tier="memory"}"#, 0.0),
            (r#"upstream_up{upstream="php",server="127.0.0.1:9",address="127.0.0.1:9"}"#, 1.0),
        ] {
            assert_eq!(values.get(&format!("myriad_{series}")), Some(&expected), "{series}");
        }
    }
}

#[test]
fn loopback_alone_may_ask_by_a_name_of_the_server() {
    let site = TestSite::new(CACHED, SERVER);
    let answer = send_request(&site, "GET /metrics", &[("Host", "localhost")]);
    assert_eq!(answer.status, 200);
    assert!(answer.text.starts_with("# HELP myriad_build_info"), "{}", answer.text);
    let fields = [("Host", "localhost"), ("Accept", "application/openmetrics-text; version=1.0.0")];
    assert!(send_request(&site, "GET /metrics", &fields).text.ends_with("# EOF\n"));
    for (fields, expected) in [
        (&[("Host", "foreign.test")][..], 403),
        (&[("Host", "localhost"), ("X-Forwarded-For", "192.0.2.1")], 403),
    ] {
        assert_eq!(send_request(&site, "GET /metrics", fields).status, expected, "{fields:?}");
    }
    assert_eq!(send_request(&site, "POST /metrics", &[("Host", "localhost")]).status, 405);
}
