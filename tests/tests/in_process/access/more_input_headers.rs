//! Tests of `more_set_input_headers` and `more_clear_input_headers`.

use super::support::{GateResult, ask};
use myriad_exchange::exchange::Exchange;
use myriad_serve::testing::TestSite;

/// Returns an exchange after the checks of a location with these directives.
fn changed(directives: &str, fields: &[(&str, &str)]) -> Box<Exchange> {
    let site = TestSite::new("", &format!("location / {{ {directives} }}"));
    let mut exchange = site.exchange("/", fields);
    assert!(ask(&mut exchange).result == GateResult::Admitted, "all clients are admitted");
    exchange
}

fn value(exchange: &Exchange, name: &str) -> Option<String> {
    let value = exchange.request.received.head.fields().get(name.as_bytes());
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

#[test]
fn field_that_came_is_replaced_and_one_that_did_not_is_added() {
    let directives = "more_set_input_headers 'Accept-Encoding: gzip' \"X-Uri: $uri\";";
    let exchange = changed(directives, &[("accept-encoding", "br"), ("Accept-Encoding", "zstd")]);
    assert_eq!(exchange.request.received.head.fields().get_all(b"accept-encoding").count(), 1);
    assert_eq!(value(&exchange, "Accept-Encoding").as_deref(), Some("gzip"));
    assert_eq!(value(&exchange, "X-Uri").as_deref(), Some("/"));
}

#[test]
fn field_is_taken_out_by_its_name_or_its_beginning() {
    let fields =
        [("Cookie", "a=1"), ("X-Forwarded-For", "1.1.1.1"), ("X-Forwarded-Host", "evil.test"), ("X-A", "1")];
    let exchange = changed("more_clear_input_headers Cookie X-Forwarded-*;", &fields);
    for name in ["Cookie", "X-Forwarded-For", "X-Forwarded-Host"] {
        assert_eq!(value(&exchange, name), None, "{name}");
    }
    assert_eq!(value(&exchange, "X-A").as_deref(), Some("1"));
    let exchange = changed("more_set_input_headers 'Cookie:';", &fields);
    assert_eq!(value(&exchange, "Cookie"), None);
}

#[test]
fn replacing_adds_nothing_and_types_are_those_of_the_request() {
    let exchange = changed("more_set_input_headers -r 'X-A: 2' 'X-B: 2';", &[("X-A", "1")]);
    assert_eq!((value(&exchange, "X-A").as_deref(), value(&exchange, "X-B")), (Some("2"), None));
    let typed = "more_set_input_headers -t 'text/plain' 'X-A: 2';";
    let exchange = changed(typed, &[("Content-Type", "Text/Plain; charset=x")]);
    assert_eq!(value(&exchange, "X-A").as_deref(), Some("2"));
    assert_eq!(value(&changed(typed, &[]), "X-A"), None);
}

#[test]
fn host_is_what_rules_and_origins_see() {
    let exchange = changed("more_set_input_headers 'Host: other.test';", &[("Host", "localhost")]);
    assert_eq!(exchange.request.route.host, b"other.test");
}
