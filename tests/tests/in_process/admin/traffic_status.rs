//! Tests of `vhost_traffic_status_display`, and of the variables `$vts_*`.

use std::rc::Rc;

use myriad_exchange::exchange::Request;
use myriad_exchange::{counting, traffic};
use myriad_net::SentReport;
use myriad_policy::CacheStatus;
use myriad_serve::testing::variables::{VariableCase, assert_unset};
use myriad_serve::testing::{TestSite, send_request};
use serde_json::{Value, json};

const ZONE: &str = "vhost_traffic_status_zone;";
const STATUS: &str = "location /status { vhost_traffic_status_display; }";

/// Counts a finished request with this target, host and status.
fn finish(site: &TestSite, target: &str, host: &str, status: u16) {
    finish_with(site, target, host, status, |_| {});
}

/// Counts a finished request like [`finish`], after `change` has changed it.
fn finish_with(site: &TestSite, target: &str, host: &str, status: u16, change: impl FnOnce(&mut Request)) {
    let mut exchange = site.exchange(target, &[]);
    change(&mut exchange.request);
    exchange.request.route.host = host.into();
    let at_ms = exchange.request.received.at_ms;
    exchange.request.outcome.finished_ms = at_ms + 30;
    exchange.request.outcome.finished_us = (at_ms + 30) * 1000;
    exchange.request.outcome.sent =
        SentReport { status, bytes: 1000, request_bytes: 100, ..SentReport::default() };
    exchange.request.cache.report.status = Some(CacheStatus::Hit);
    counting::end(&mut exchange);
}

fn get(site: &TestSite, target: &str) -> Value {
    let text = send_request(site, &format!("GET {target}"), &[]).text;
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn server_zones_and_total_match_vts_json_format() {
    let site = TestSite::new(ZONE, &format!("server_name a.test b.test; {STATUS}"));
    finish(&site, "/", "b.test", 200);
    finish(&site, "/x", "a.test", 404);
    let status = get(&site, "/status/format/json");
    for name in ["a.test", "*"] {
        let zone = &status["serverZones"][name];
        assert_eq!(
            (&zone["requestCounter"], &zone["inBytes"], &zone["outBytes"]),
            (&json!(2), &json!(200), &json!(2000)),
            "{name}"
        );
        let responses = &zone["responses"];
        assert_eq!(
            (&responses["2xx"], &responses["4xx"], &responses["hit"]),
            (&json!(1), &json!(1), &json!(2))
        );
        assert_eq!((&zone["requestMsecCounter"], &zone["requestMsec"]), (&json!(60), &json!(30)));
    }
    for name in ["hostName", "nginxVersion", "loadMsec", "nowMsec", "connections", "sharedZones"] {
        assert!(!status[name].is_null(), "{name}");
    }
    assert_eq!(status["serverZones"].as_object().map(serde_json::Map::len), Some(2));
}

#[test]
fn nothing_is_counted_where_it_is_off() {
    for (http, server) in
        [("", ""), (ZONE, "vhost_traffic_status off;"), (ZONE, "vhost_traffic_status_bypass_stats on;")]
    {
        let site = TestSite::new(http, server);
        let exchange = site.exchange("/", &[]);
        assert!(exchange.request.place().logs.counting.is_none(), "{http} {server}");
    }
    let site = TestSite::new("", STATUS);
    assert_eq!(send_request(&site, "GET /status", &[]).status, 501);
    let site = TestSite::new(ZONE, &format!("vhost_traffic_status_ignore_status 4xx 5xx; {STATUS}"));
    finish(&site, "/", "x", 404);
    finish(&site, "/", "x", 301);
    assert_eq!(get(&site, "/status")["serverZones"]["*"]["requestCounter"], json!(1));
}

#[test]
fn hosts_are_counted_separately_and_evict_no_server_zone() {
    let server = format!(
        "server_name a.test; vhost_traffic_status_filter_by_host on; {STATUS}
                          location /own {{ vhost_traffic_status_filter_by_host off; }}"
    );
    let site = TestSite::new("vhost_traffic_status_zone shared:x:64k;", &server);
    finish(&site, "/own", "x", 200);
    for number in 0..1000 {
        finish(&site, "/", &format!("{number}.test"), 200);
    }
    let zones = get(&site, "/status");
    let zones = zones["serverZones"].as_object().expect("zones");
    assert!(zones.contains_key("a.test") && zones.contains_key("999.test") && !zones.contains_key("0.test"));
    assert!(zones.len() < 100, "{}", zones.len());
}

#[test]
fn filters_count_by_texts_in_groups() {
    let http = format!("{ZONE} vhost_traffic_status_filter_by_set_key $arg_a all::*;");
    let server = format!(
        "server_name a.test; {STATUS}
         vhost_traffic_status_filter_by_set_key $arg_a of::$server_name;
         vhost_traffic_status_filter_by_set_key $arg_a of::$server_name;
         location /off {{ vhost_traffic_status_filter off; }}
         location /key {{ vhost_traffic_status_filter_by_set_key $arg_a; }}"
    );
    let site = TestSite::new(&http, &server);
    for target in ["/?a=x", "/?a=%22%3Cb%3E", "/?a=x", "/", "/off?a=x", "/key?a=k"] {
        finish(&site, target, "a.test", 200);
    }
    let status = get(&site, "/status");
    let filters = &status["filterZones"];
    assert_eq!(
        filters["of::a.test"]["x"]["requestCounter"],
        json!(2),
        "the duplicate directive counts nothing"
    );
    assert_eq!(filters["all::*"]["x"]["requestCounter"], json!(2));
    assert_eq!(
        filters["all::*"]["k"]["requestCounter"],
        json!(1),
        "the directive of `http` also applies to levels with their own"
    );
    assert_eq!(filters["of::a.test"]["%22%3Cb%3E"]["requestCounter"], json!(1));
    assert_eq!(status["serverZones"]["k"]["requestCounter"], json!(1));
    assert_eq!(status["serverZones"]["a.test"]["requestCounter"], json!(6));
}

#[test]
fn number_of_filters_is_bounded_in_the_groups_that_are_meant() {
    let http = format!(
        "{ZONE} vhost_traffic_status_filter_max_node 3 uris; vhost_traffic_status_filter_by_set_key $arg_a uris::x;
         vhost_traffic_status_filter_by_set_key $arg_a other;"
    );
    let site = TestSite::new(&http, STATUS);
    for number in 0..10 {
        finish(&site, &format!("/?a={number}"), "x", 200);
    }
    let filters = &get(&site, "/status")["filterZones"];
    let names: Vec<&String> = filters["uris::x"].as_object().expect("a group").keys().collect();
    assert_eq!(names, ["7", "8", "9"]);
    assert_eq!(filters["other"].as_object().map(serde_json::Map::len), Some(10));
}

#[test]
fn histograms_and_averages_follow_their_directives() {
    let http = format!("{ZONE} vhost_traffic_status_histogram_buckets 0.005 0.03 1;");
    let site = TestSite::new(&http, STATUS);
    finish(&site, "/", "x", 200);
    let zone = &get(&site, "/status")["serverZones"]["*"];
    assert_eq!(zone["requestBuckets"], json!({ "msecs": [5, 30, 1000], "counters": [0, 1, 1] }));
    assert_eq!(zone["requestMsecs"]["msecs"], json!([30]));
    let text = send_request(&site, "GET /status/format/prometheus", &[]).text;
    for line in [
        "nginx_vts_server_request_duration_seconds_bucket{host=\"*\",le=\"0.030\"} 1",
        "nginx_vts_server_request_duration_seconds_bucket{host=\"*\",le=\"+Inf\"} 1",
        "nginx_vts_server_request_duration_seconds_sum{host=\"*\"} 0.030",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
}

#[test]
fn histograms_of_origins_count_the_attempts_that_have_a_duration() {
    let http = format!("{ZONE} vhost_traffic_status_histogram_buckets 0.005 0.03;");
    let site = TestSite::new(&http, STATUS);
    finish_with(&site, "/", "x", 200, |request| {
        let attempts = &request.origin_mut().attempts;
        attempts.record_unresolved("php");
        attempts.record_unresolved("php");
    });
    let text = send_request(&site, "GET /status/format/prometheus", &[]).text;
    let labels = "upstream=\"::nogroups\",backend=\"php\"";
    for (what, count) in [("request", 1), ("response", 2)] {
        for line in [
            format!("nginx_vts_upstream_{what}_duration_seconds_bucket{{{labels},le=\"+Inf\"}} {count}"),
            format!("nginx_vts_upstream_{what}_duration_seconds_count{{{labels}}} {count}"),
        ] {
            assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        }
    }
}

#[test]
fn prometheus_gets_each_metric_in_one_piece_and_labels_that_hold_nothing_else() {
    let http = format!("{ZONE} vhost_traffic_status_filter_by_set_key $args all;");
    let site = TestSite::new(&http, STATUS);
    finish(&site, "/?a\"}\\b", "x", 200);
    let text = send_request(&site, "GET /status/format/prometheus", &[]).text;
    assert!(text.contains("nginx_vts_server_requests_total{host=\"*\",code=\"2xx\"} 1\n"), "{text}");
    assert!(text.contains("nginx_vts_server_cache_total{host=\"*\",status=\"hit\"} 1\n"));
    assert!(text.contains("{filter=\"all\",filter_name=\"a\\\"}\\\\b\",code=\"2xx\"} 1\n"), "{text}");
    let mut seen: Vec<&str> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("# TYPE")) {
        let name = line.split(' ').nth(2).expect("a name");
        assert!(!seen.contains(&name), "{name} occurs twice");
        seen.push(name);
    }
}

#[test]
fn control_reports_resets_and_deletes_selected_zones() {
    let http = format!("{ZONE} vhost_traffic_status_filter_by_set_key $arg_a all;");
    let site = TestSite::new(&http, &format!("server_name a.test; {STATUS}"));
    finish(&site, "/?a=x@y", "a.test", 200);
    finish(&site, "/?a=z", "a.test", 200);
    let control = |arguments: &str| get(&site, &format!("/status/control?{arguments}"));
    assert_eq!(control("cmd=status&group=server&zone=a.test")["a.test"]["requestCounter"], json!(2));
    assert_eq!(control("cmd=status&group=filter&zone=all@z")["z"]["requestCounter"], json!(1));
    assert_eq!(control("cmd=status&group=filter&zone=all%40x[:alpha:]y")["x@y"]["requestCounter"], json!(1));
    assert!(!control("cmd=status&group=server&zone=::main")["connections"].is_null());
    assert_eq!(control("cmd=delete&group=filter&zone=all@z&expire=1h")["processingCounts"], json!(0));
    assert_eq!(control("cmd=delete&group=filter&zone=all@z")["processingCounts"], json!(1));
    assert!(control("cmd=status&group=filter&zone=*")["filterZones"]["all"]["z"].is_null());
    assert_eq!(control("cmd=reset&group=*")["processingCounts"], json!(2));
    assert_eq!(control("cmd=status&group=server&zone=a.test")["a.test"]["requestCounter"], json!(0));
    finish(&site, "/?a=z", "a.test", 200);
    assert_eq!(control("cmd=status&group=*")["serverZones"]["a.test"]["requestCounter"], json!(1));
    for nonsense in [
        "",
        "cmd=delete",
        "cmd=x&group=*",
        "cmd=delete&group=y&zone=*",
        "cmd=delete&group=server",
        "cmd=delete&group=*&expire=soon",
    ] {
        let response = control(nonsense);
        assert_eq!(
            (&response["processingReturn"], &response["processingCounts"]),
            (&json!(false), &json!(0)),
            "{nonsense}"
        );
    }
}

#[test]
fn pages_are_of_the_format_that_is_named_or_set() {
    let server = "location /status { vhost_traffic_status_display; vhost_traffic_status_display_format html;
                  vhost_traffic_status_display_jsonp my.callback; vhost_traffic_status_display_sum_key sum; }";
    let site = TestSite::new(ZONE, server);
    assert!(send_request(&site, "GET /status", &[]).text.starts_with("<!DOCTYPE html>"));
    let script = send_request(&site, "GET /status/format/jsonp", &[]).text;
    assert!(script.starts_with("/**/my.callback({") && script.ends_with("});"), "{script}");
    assert!(!get(&site, "/status/format/json")["serverZones"]["sum"].is_null());
    assert_eq!(send_request(&site, "POST /status", &[]).status, 405);
}

#[test]
fn counts_outlive_the_generation_that_made_them() {
    let site = TestSite::new(ZONE, STATUS);
    finish(&site, "/", "x", 200);
    let exchange = site.exchange("/", &[]);
    let worker = Rc::clone(&exchange.request.site.worker);
    drop((site, exchange));
    assert_eq!(traffic::all(&worker.all_counters).len(), 1);
}

#[test]
fn vts_variables_are_empty_for_unrequested_server() {
    assert_unset(
        &mut VariableCase::default().begin(),
        &[
            "vts_request_counter",
            "vts_in_bytes",
            "vts_out_bytes",
            "vts_1xx_counter",
            "vts_2xx_counter",
            "vts_3xx_counter",
            "vts_4xx_counter",
            "vts_5xx_counter",
            "vts_cache_miss_counter",
            "vts_cache_bypass_counter",
            "vts_cache_expired_counter",
            "vts_cache_stale_counter",
            "vts_cache_updating_counter",
            "vts_cache_revalidated_counter",
            "vts_cache_hit_counter",
            "vts_cache_scarce_counter",
            "vts_request_time_counter",
            "vts_request_time",
        ],
    );
}
