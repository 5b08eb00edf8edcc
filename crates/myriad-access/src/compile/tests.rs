use std::path::Path;
use std::sync::Arc;

use myriad_conf::{Span, Text};
use myriad_script::Template;

use super::{GateBuilder, PersistentCheckState};
use crate::limit_req::RequestTable;
use crate::limit_zone::{LimitKind, LimitZoneConf};
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

fn zone(name: &str, key: &str, size: u64) -> LimitZoneConf {
    LimitZoneConf {
        name: name.to_owned(),
        key: Text::new(key, Span::default()),
        size,
        kind: LimitKind::Requests { rate: 1000 },
        span: Span::default(),
    }
}

/// Returns the table that the zone `conf` uses when it is compiled with the persistent state `kept`.
fn table(kept: &mut PersistentCheckState, conf: &LimitZoneConf) -> Arc<RequestTable> {
    Arc::clone(&kept.requests.zone(conf, Template::constant(b"")).table)
}

#[test]
fn table_outlives_a_reload_while_its_zone_has_the_same_key() {
    let mut persistent = PersistentCheckState::default();
    let first = table(&mut persistent, &zone("one", "$a", 1 << 20));
    let again = table(&mut persistent, &zone("one", "$a", 1 << 16));
    assert!(Arc::ptr_eq(&first, &again));
    let other_key = table(&mut persistent, &zone("one", "$b", 1 << 20));
    assert!(!Arc::ptr_eq(&first, &other_key), "what was counted by one key means nothing to another");
    let other_zone = table(&mut persistent, &zone("two", "$b", 1 << 20));
    assert!(!Arc::ptr_eq(&other_key, &other_zone));
}

#[test]
fn tables_of_zones_that_are_gone_go_once_the_configuration_runs() {
    let mut persistent = PersistentCheckState::default();
    let (one, two) = (zone("one", "$a", 1 << 20), zone("two", "$a", 1 << 20));
    let (first, second) = (table(&mut persistent, &one), table(&mut persistent, &two));
    persistent.apply_zones(std::slice::from_ref(&two));
    assert!(!Arc::ptr_eq(&first, &table(&mut persistent, &one)));
    assert!(Arc::ptr_eq(&second, &table(&mut persistent, &two)));
}

#[test]
fn slow_passwords_are_remembered_over_reloads() {
    let mut persistent = PersistentCheckState::default();
    let first = GateBuilder::new(std::iter::empty(), &mut persistent, Path::new("/conf"));
    let second = GateBuilder::new(std::iter::empty(), &mut persistent, Path::new("/conf"));
    assert!(Arc::ptr_eq(&first.passwords, &second.passwords));
}
