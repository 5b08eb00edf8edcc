//! Tests of the checks that a location has.

use myriad_serve::testing::TestSite;

/// Returns the names of the checks of a server with these directives.
fn names(server: &str) -> Vec<&'static str> {
    let zones = "limit_req_zone $remote_addr zone=r:1m rate=1r/s; limit_conn_zone $remote_addr zone=c:1m;";
    let exchange = TestSite::new(zones, server).exchange("/", &[]);
    let gate = exchange.request.place().entry.gate.as_ref();
    gate.map_or(Vec::new(), |gate| gate.checks.iter().map(|check| check.name()).collect())
}

#[test]
fn checks_are_asked_in_the_order_of_nginx_however_they_are_written() {
    let written = [
        "auth_request /auth;",
        "auth_basic x; auth_basic_user_file users;",
        "deny all;",
        "limit_conn c 1;",
        "limit_req zone=r;",
    ];
    let order = ["limit_req", "limit_conn", "allow, deny", "auth_basic", "auth_request"];
    assert_eq!(names(&written.concat()), order);
    for (directive, name) in written.iter().rev().zip(order) {
        assert_eq!(names(directive), [name]);
    }
}

#[test]
fn location_without_checks_has_no_gate() {
    for server in ["", "satisfy any;", "auth_delay 1s;", "auth_request off;", "limit_req_dry_run on;"] {
        assert_eq!(names(server), [""; 0], "{server}");
    }
}

#[test]
fn gate_has_what_holds_for_all_checks() {
    let exchange = TestSite::new("", "deny all; satisfy any; auth_delay 2s;").exchange("/", &[]);
    let gate = exchange.request.place().entry.gate.as_ref().expect("a gate");
    assert!(gate.any);
    assert_eq!(gate.delay_ms, 2000);
}
