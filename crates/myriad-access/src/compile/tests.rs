use std::path::Path;
use std::sync::Arc;

use myriad_conf::model::HttpConf;
use myriad_conf::{Span, Text};
use myriad_script::Template;

use super::{GateBuilder, PersistentCheckState};
use crate::limit_req::RequestTable;
use crate::limit_zone::{LimitKind, LimitZoneConf, RequestRate, limit_zones};
use crate::testing::http;
use crate::{limit_conn, limit_req};

fn zone(name: &str, key: &str, size: u64) -> LimitZoneConf {
    LimitZoneConf {
        name: name.to_owned(),
        key: Text::new(key, Span::default()),
        size,
        kind: LimitKind::Requests { rate: 1000 },
        cluster: true,
        span: Span::default(),
    }
}

/// Returns an `http` block with directives of limits.
fn limits_block(inside: &str) -> HttpConf {
    http([limit_req::FEATURE, limit_conn::FEATURE].map(|feature| feature.family), inside)
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
    assert!(!Arc::ptr_eq(&first, &other_key), "counts of one key are not used for another");
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
fn zone_whose_kind_changes_has_one_shared_table() {
    let requests = zone("one", "a", 1 << 20);
    let connections = LimitZoneConf { kind: LimitKind::Connections, ..requests.clone() };
    let http_of_requests = limits_block("limit_req_zone a zone=one:1m rate=1r/s;");
    let http_of_connections = limits_block("limit_conn_zone a zone=one:1m;");
    let mut persistent = PersistentCheckState::default();
    table(&mut persistent, &requests);
    persistent.apply_zones(std::slice::from_ref(&requests));
    let first = persistent.shared_zones(&http_of_requests);
    assert_eq!(first.len(), 1);
    persistent.connections.zone(&connections, Template::constant(b""));
    let second = persistent.shared_zones(&http_of_connections);
    assert_eq!(second.len(), 1, "the table of requests has another identity");
    assert!(first[0].id() != second[0].id() && !second[0].has_table_of(&first[0]));
    persistent.apply_zones(std::slice::from_ref(&connections));
    assert!(persistent.shared_zones(&http_of_requests).is_empty(), "the table of requests is removed");
}

#[test]
fn burst_of_a_shared_zone_is_the_largest_of_the_active_configuration() {
    let block = |burst: u32| {
        limits_block(&format!(
            "limit_req_zone a zone=one:1m rate=1r/s; limit_req zone=one burst=2;
             server {{ location /a {{ limit_req zone=one burst={burst} origin_only; }} }}"
        ))
    };
    let mut persistent = PersistentCheckState::default();
    let (small, large) = (block(5), block(5000));
    // The configuration with the large burst is compiled, and then refused.
    for http in [&small, &large] {
        let zones = limit_zones(http).iter().map(|zone| (zone, Template::constant(b"")));
        let gates = GateBuilder::new(zones, &mut persistent, Path::new("/conf"));
        http.levels().into_iter().for_each(|settings| drop(gates.origin_gate(settings)));
    }
    for (http, max_burst) in [(&small, 5000), (&large, 5_000_000), (&small, 5000)] {
        let shared = persistent.shared_zones(http);
        assert_eq!(shared[0].limits(), RequestRate { rate: 1000, max_burst });
    }
}

#[test]
fn slow_passwords_are_remembered_over_reloads() {
    let mut persistent = PersistentCheckState::default();
    let first = GateBuilder::new(std::iter::empty(), &mut persistent, Path::new("/conf"));
    let second = GateBuilder::new(std::iter::empty(), &mut persistent, Path::new("/conf"));
    assert!(Arc::ptr_eq(&first.passwords, &second.passwords));
}
