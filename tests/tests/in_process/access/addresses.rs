//! Tests of `allow`, `deny` and `satisfy`.

use std::net::SocketAddr;

use myriad_serve::testing::TestSite;

use super::support::{GateResult, ask};

/// Returns the result of these rules for a client with this address.
fn from(rules: &str, address: &str) -> GateResult {
    let mut exchange = TestSite::new("", rules).exchange("/", &[]);
    exchange.request.received.real = Some(SocketAddr::new(address.parse().expect("an address"), 1));
    ask(&mut exchange).result
}

#[test]
fn explanation_names_the_address_of_the_request() {
    let explain = |address: &str| {
        let mut exchange = TestSite::new("", "deny 192.0.2.1; allow 192.0.2.0/24;").exchange("/", &[]);
        exchange.request.received.real = Some(SocketAddr::new(address.parse().expect("an address"), 1));
        let gate = exchange.request.place().entry.gate.clone().expect("a gate");
        gate.checks[0].explain(&exchange.request).0
    };
    assert_eq!(explain("192.0.2.1"), "192.0.2.1 is denied");
    assert_eq!(explain("192.0.2.2"), "192.0.2.2 is allowed");
    assert_eq!(explain("192.0.3.1"), "");
}

#[test]
fn the_first_rule_that_covers_the_client_decides() {
    let rules = "deny 192.0.2.1; allow 192.0.2.0/24; deny all;";
    assert_eq!(from(rules, "192.0.2.1"), GateResult::out(403));
    assert_eq!(from(rules, "192.0.2.2"), GateResult::Admitted);
    assert_eq!(from(rules, "192.0.3.1"), GateResult::out(403));
    assert_eq!(from("allow 192.0.2.0/24; deny 192.0.2.1;", "192.0.2.1"), GateResult::Admitted);
}

#[test]
fn client_that_no_rule_covers_may_come_in() {
    assert_eq!(from("deny 192.0.2.0/24;", "198.51.100.1"), GateResult::Admitted);
    assert_eq!(from("deny unix:;", "198.51.100.1"), GateResult::Admitted);
}

#[test]
fn ipv4_and_ipv6_rules_are_distinct_except_for_mapped_addresses() {
    let rules = "allow 2001:db8::/32; allow 192.0.2.0/24; deny all;";
    assert_eq!(from(rules, "2001:db8::1"), GateResult::Admitted);
    assert_eq!(from(rules, "2001:db9::1"), GateResult::out(403));
    assert_eq!(from(rules, "::ffff:192.0.2.9"), GateResult::Admitted);
    assert_eq!(from(rules, "::ffff:192.0.3.9"), GateResult::out(403));
}

#[test]
fn connection_address_is_used_without_proxy_header() {
    let site = TestSite::new("", "allow 127.0.0.1; deny all;");
    assert_eq!(ask(&mut site.exchange("/", &[])).result, GateResult::Admitted);
}

#[test]
fn address_rules_do_not_count_as_identification() {
    let exchange = TestSite::new("", "deny all;").exchange("/", &[]);
    let gate = exchange.request.place().entry.gate.as_ref().expect("a gate");
    assert!(gate.rules_addresses() && !gate.identifies());
}

#[test]
fn satisfy_any_admits_address_denied_client_through_another_check() {
    let guarded = "deny all; auth_request /ok; location = /ok { auth_request off; return 204; }";
    let came = |satisfy: &str| {
        let mut exchange = TestSite::new("", &format!("satisfy {satisfy}; {guarded}")).exchange("/", &[]);
        let asked = ask(&mut exchange);
        (asked.result, asked.waits)
    };
    assert_eq!(came("any"), (GateResult::Admitted, 1));
    assert_eq!(came("all"), (GateResult::out(403), 0));
}
