//! Tests of `stub_status`.

use std::rc::Rc;

use myriad_http::HttpVersion;
use myriad_serve::testing::{TestSite, immediate_answer, run_exchange, send_request};

#[test]
fn stub_status_matches_nginx_format() {
    let site = TestSite::new("", "stub_status;");
    let exchange = site.received_request(HttpVersion::Http11, ("GET", "/"), &[]);
    let counters = &Rc::clone(&exchange.request.site.worker).counters;
    counters.accepted.add(7);
    counters.closed.add(2);
    counters.reading.add(1);
    counters.begun.add(31);
    counters.requests.add(28);
    let text = "Active connections: 5 \nserver accepts handled requests\n 7 7 31 \nReading: 1 Writing: 3 Waiting: 1 \n";
    assert_eq!(run_exchange(exchange).text, text);
}

#[test]
fn stub_status_is_plain_text_for_get_and_head_only() {
    let site = TestSite::new("", "location = /status { stub_status on; }");
    let mut exchange = site.received_request(HttpVersion::Http11, ("HEAD", "/status"), &[]);
    let answer = immediate_answer(&mut exchange).expect("an answer");
    assert_eq!((answer.status, answer.media_type.as_deref()), (200, Some(&b"text/plain"[..])));
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        assert_eq!(send_request(&site, &format!("{method} /status"), &[]).status, 405, "{method}");
    }
}
