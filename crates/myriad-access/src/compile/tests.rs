use std::path::Path;
use std::sync::Arc;

use myriad_conf::{Span, Text};
use myriad_script::Template;

use super::{GateBuilder, PersistentCheckState};
use crate::limit_req::RequestTable;
use crate::limit_zone::{LimitKind, LimitZoneConf};

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
fn slow_passwords_are_remembered_over_reloads() {
    let mut persistent = PersistentCheckState::default();
    let first = GateBuilder::new(std::iter::empty(), &mut persistent, Path::new("/conf"));
    let second = GateBuilder::new(std::iter::empty(), &mut persistent, Path::new("/conf"));
    assert!(Arc::ptr_eq(&first.passwords, &second.passwords));
}
