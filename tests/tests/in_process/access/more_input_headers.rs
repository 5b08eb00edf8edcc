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
fn name_with_asterisk_removes_fields_also_with_r() {
    let fields = [("X-Foo-A", "1"), ("X-Foo-B", "1"), ("X-A", "1")];
    let exchange = changed("more_set_input_headers -r 'X-Foo*:';", &fields);
    assert_eq!((value(&exchange, "X-Foo-A"), value(&exchange, "X-Foo-B")), (None, None));
    assert_eq!(value(&exchange, "X-A").as_deref(), Some("1"));
}

#[test]
fn host_is_what_rules_and_origins_see() {
    let exchange = changed("more_set_input_headers 'Host: other.test';", &[("Host", "localhost")]);
    assert_eq!(exchange.request.route.host, b"other.test");
}

#[test]
fn new_host_is_normalized_like_a_received_one() {
    let directives = "more_set_input_headers 'Host: Shop.Example.:8080';";
    let mut exchange = changed(directives, &[("Host", "LocalHost")]);
    assert_eq!(exchange.request.route.host, b"shop.example");
    assert_eq!(value(&exchange, "Host").as_deref(), Some("shop.example:8080"));
    exchange.request.received.head.restore_host();
    assert_eq!(value(&exchange, "Host").as_deref(), Some("Shop.Example.:8080"), "the value in logs");
}

#[test]
fn received_spelling_of_replaced_host_is_not_restored() {
    let mut exchange = changed("more_set_input_headers 'Host: other.test';", &[("Host", "LocalHost")]);
    exchange.request.received.head.restore_host();
    assert_eq!(value(&exchange, "Host").as_deref(), Some("other.test"));
}

#[test]
fn invalid_host_fails_the_request() {
    let site = TestSite::new("", "location / { more_set_input_headers \"Host: $http_x_host\"; }");
    let mut exchange = site.exchange("/", &[("Host", "localhost"), ("X-Host", "a/b")]);
    assert_eq!(ask(&mut exchange).result, GateResult::out(400));
    let mut exchange = site.exchange("/", &[("Host", "localhost"), ("X-Host", "a.test")]);
    assert!(ask(&mut exchange).result == GateResult::Admitted);
}

#[test]
fn host_without_the_field_is_the_name_of_the_server() {
    let directives = "server_name site.test; location / { more_clear_input_headers Host; }";
    let mut exchange = TestSite::new("", directives).exchange("/", &[("Host", "localhost")]);
    assert!(ask(&mut exchange).result == GateResult::Admitted);
    assert_eq!((value(&exchange, "Host"), &*exchange.request.route.host), (None, &b"site.test"[..]));
}
