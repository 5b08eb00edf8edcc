//! Tests of the variables `$uid_*`.

use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};

const COOKIE: &[(&str, &str)] = &[("Cookie", "a=b; uid=fwAAAWVT8QAAAAAAAwMDAg==")];
const NUMBER: &str = "uid=0100007F00F153650000000002030303";

#[test]
fn number_that_came_is_shown_and_stays() {
    let mut exchange =
        VariableCase { fields: COOKIE, server: "userid on;", ..VariableCase::default() }.begin();
    assert_variables(&mut exchange, &[("uid_got", NUMBER)]);
    assert_unset(&mut exchange, &["uid_set", "uid_reset"]);
}

#[test]
fn number_that_is_given_is_one_for_the_whole_request() {
    let mut exchange =
        VariableCase { server: "userid on; userid_service 1;", ..VariableCase::default() }.begin();
    assert_unset(&mut exchange, &["uid_got"]);
    let given = variable_value(&mut exchange, "uid_set").expect("a number");
    assert!(given.starts_with(&format!("uid={:08X}", u32::from_ne_bytes([0, 0, 0, 1]))), "{given}");
    assert_variables(&mut exchange, &[("uid_set", &given)]);
}

#[test]
fn nothing_is_shown_where_it_is_off_and_nothing_given_where_it_is_for_logs() {
    for (server, got) in [("", None), ("userid off;", None), ("userid log;", Some(NUMBER))] {
        let mut exchange = VariableCase { fields: COOKIE, server, ..VariableCase::default() }.begin();
        assert_eq!(variable_value(&mut exchange, "uid_got").as_deref(), got, "{server}");
        assert_unset(&mut exchange, &["uid_set"]);
    }
}
