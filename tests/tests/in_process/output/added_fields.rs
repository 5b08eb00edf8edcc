//! Tests of `add_header`, `expires`, `add_trailer` and the fields for debugging the cache.

use myriad_http::HttpVersion;
use myriad_policy::CacheStatus;

use super::support::{OutputTestSite, sent, text};

#[test]
fn fields_are_added_to_what_is_no_error_or_always() {
    let trial = OutputTestSite::of(
        "location / { add_header A 1; add_header B 2 always; return 200 x; }
         location /e { add_header A 1; add_header B 2 always; return 403; }",
    );
    let answer = trial.get("GET /", &[]);
    assert!(answer.head.ends_with("A: 1\r\nB: 2\r\n"), "{}", answer.head);
    let answer = trial.get("GET /e", &[]);
    assert!(answer.head.ends_with("B: 2\r\n") && !answer.head.contains("A: 1"), "{}", answer.head);
}

#[test]
fn value_cannot_begin_another_field() {
    let trial = OutputTestSite::of("location / { add_header A $arg_a; add_header B $arg_b; return 200 x; }");
    let (mut exchange, answer) = trial.asked("GET /", &[]);
    exchange.request.route.args = b"a=1\r\nC:2\0".to_vec();
    let answer = sent(exchange, answer);
    assert!(answer.head.ends_with("A: 1C:2\r\n"), "{}", answer.head);
}

#[test]
fn field_may_read_those_before_it() {
    let trial = OutputTestSite::of(
        "location / { add_header A 1; add_header B $sent_http_a$sent_http_content_type; return 200 x; }",
    );
    let answer = trial.answered("GET /", &[], text("text/x", "x"));
    assert!(answer.head.ends_with("A: 1\r\nB: 1text/x\r\n"), "{}", answer.head);
}

#[test]
fn expires_sets_date_and_max_age() {
    let trial = OutputTestSite::of(
        "location /h { expires 1h; return 200 x; } location /past { expires -1; return 200 x; }
         location /epoch { expires epoch; return 200 x; } location /max { expires max; return 200 x; }
         location /off { expires off; return 200 x; }",
    );
    let freshness_fields = |path| {
        let answer = trial.get(path, &[]);
        let lines =
            answer.head.lines().filter(|line| line.starts_with("Expires") || line.starts_with("Cache"));
        lines.collect::<Vec<_>>().join(" | ")
    };
    assert_eq!(
        freshness_fields("GET /h"),
        "Expires: Sun, 06 Nov 1994 09:49:37 GMT | Cache-Control: max-age=3600"
    );
    assert_eq!(
        freshness_fields("GET /past"),
        "Expires: Sun, 06 Nov 1994 08:49:36 GMT | Cache-Control: no-cache"
    );
    assert_eq!(
        freshness_fields("GET /epoch"),
        "Expires: Thu, 01 Jan 1970 00:00:01 GMT | Cache-Control: no-cache"
    );
    assert_eq!(
        freshness_fields("GET /max"),
        "Expires: Thu, 31 Dec 2037 23:55:55 GMT | Cache-Control: max-age=315360000"
    );
    assert_eq!(freshness_fields("GET /off"), "");
}

#[test]
fn expires_replaces_cache_control_of_origin_except_on_errors() {
    let freshness_fields = |status| {
        let mut answer = text("text/html", "x");
        answer.status = status;
        answer.field(b"Cache-Control", b"private");
        let trial = OutputTestSite::of("location / { expires 1h; return 200 x; }");
        trial.answered("GET /", &[], answer).head
    };
    assert!(freshness_fields(200).contains("max-age=3600") && !freshness_fields(200).contains("private"));
    assert!(freshness_fields(404).contains("private") && !freshness_fields(404).contains("max-age"));
}

#[test]
fn expires_counts_from_the_last_change_or_by_a_variable() {
    let trial = OutputTestSite::with(
        "map $uri $how { /map 2h; /nothing ''; /nonsense soon; }",
        "location /late { expires modified 1h; return 200 x; } location / { expires $how; return 200 x; }",
    );
    let dated = || {
        let mut answer = text("text/html", "x");
        answer.field(b"Last-Modified", b"Sun, 06 Nov 1994 08:39:37 GMT");
        answer
    };
    assert!(trial.answered("GET /late", &[], dated()).head.contains("max-age=3000\r\n"));
    assert!(trial.answered("GET /late", &[], text("text/html", "x")).head.contains("max-age=3600\r\n"));
    assert!(trial.get("GET /map", &[]).head.contains("max-age=7200\r\n"));
    assert!(!trial.get("GET /nothing", &[]).head.contains("Expires"));
    assert!(!trial.get("GET /nonsense", &[]).head.contains("Expires"));
}

#[test]
fn cache_debug_shows_status_and_key_on_request() {
    let trial = OutputTestSite::of("location / { cache_debug on; return 200 x; }");
    let status_field = |fields: &[(&str, &str)], status| {
        let (mut exchange, answer) = trial.asked("GET /", fields);
        exchange.request.cache.report.status = status;
        exchange.request.cache.report.age_s = Some(5);
        exchange.request.cache.key = b"http\x01".to_vec();
        sent(exchange, answer).head
    };
    let hit = status_field(&[], Some(CacheStatus::Hit));
    assert!(hit.ends_with("X-Cache: HIT\r\nX-Cache-Age: 5\r\n"), "{hit}");
    assert!(status_field(&[], Some(CacheStatus::Miss)).ends_with("X-Cache: MISS\r\n"));
    assert!(!status_field(&[], None).contains("X-Cache"));
    let asked = status_field(&[("X-Cache-Debug", "1")], Some(CacheStatus::Hit));
    assert!(asked.ends_with("X-Cache-Key: http\\x01\r\n"), "{asked}");
}

#[test]
fn trailers_follow_a_body_in_chunks() {
    let trial = OutputTestSite::of(
        "location / { add_trailer A $sent_http_b; add_trailer C $arg_none; add_header B 1; return 200 x; }",
    );
    let mut answer = trial.get("GET /", &[]);
    assert!(!answer.head.contains("Content-Length"), "{}", answer.head);
    let mut lines = Vec::new();
    (answer.response.trailers.expect("trailers"))(&mut answer.response.ticket, &mut lines);
    assert_eq!(String::from_utf8(lines).unwrap(), "A: 1\r\n");
    let bodiless = trial.get("HEAD /", &[]);
    assert!(bodiless.response.trailers.is_none() && bodiless.head.contains("Content-Length: 1\r\n"));
    let (exchange, old) = trial.asked_in(HttpVersion::Http10, "GET /", &[]);
    let old = sent(exchange, old);
    assert!(old.response.trailers.is_none() && old.head.contains("Content-Length: 1\r\n"), "{}", old.head);
}
