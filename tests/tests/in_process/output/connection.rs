//! Tests of persistent connections and of the send rate.

use myriad_http::HttpVersion;

use super::support::{OutputTestSite, sent};

const MSIE6: (&str, &str) = ("User-Agent", "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)");

#[test]
fn keepalive_disable_closes_msie6_connection_after_post() {
    let trial = OutputTestSite::of("keepalive_disable msie6; location / { return 200 x; }");
    assert!(trial.get("POST /", &[MSIE6]).response.close);
    assert!(!trial.get("GET /", &[MSIE6]).response.close);
    assert!(!trial.get("POST /", &[]).response.close);
    let none = OutputTestSite::of("keepalive_disable none; location / { return 200 x; }");
    assert!(!none.get("POST /", &[MSIE6]).response.close);
}

#[test]
fn answer_ends_its_connection_but_not_one_that_others_share() {
    let trial = OutputTestSite::of("location / { return 200 x; }");
    for (version, close) in
        [(HttpVersion::Http11, true), (HttpVersion::Http2, false), (HttpVersion::Http3, false)]
    {
        let (exchange, mut answer) = trial.asked_in(version, "GET /", &[]);
        answer.close = true;
        assert_eq!(sent(exchange, answer).response.close, close, "{version:?}");
    }
}

#[test]
fn body_leaves_as_fast_as_the_nearest_word_allows() {
    let trial = OutputTestSite::of(
        "location / { return 200 x; } location /l { limit_rate 1k; limit_rate_after 10; return 200 x; }
         location /v { limit_rate $arg_rate; return 200 x; }",
    );
    let rate = |request, said| {
        let (exchange, mut answer) = trial.asked(request, &[]);
        answer.limit_rate = said;
        let rate = sent(exchange, answer).response.rate;
        rate.map(|rate| (rate.bytes_per_second, rate.after))
    };
    assert_eq!(rate("GET /", None), None);
    assert_eq!(rate("GET /l", None), Some((1024, 10)));
    assert_eq!(rate("GET /l", Some(5)), Some((5, 10)));
    assert_eq!(rate("GET /l", Some(0)), None, "the origin may lift the limit");
    assert_eq!(rate("GET /", Some(5)), Some((5, 0)));
    assert_eq!(rate("GET /v?rate=2m", None), Some((2 << 20, 0)));
    assert_eq!(rate("GET /v?rate=fast", None), None);
}
