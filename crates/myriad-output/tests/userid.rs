//! Values of `$uid_*`.

use myriad_serve::testing::variables::{Case, lacks, shown, shows};

const COOKIE: &[(&str, &str)] = &[("Cookie", "a=b; uid=fwAAAWVT8QAAAAAAAwMDAg==")];
const NUMBER: &str = "uid=0100007F00F153650000000002030303";

#[test]
fn number_that_came_is_shown_and_stays() {
    let mut exchange = Case { fields: COOKIE, server: "userid on;", ..Case::default() }.begin();
    shows(&mut exchange, &[("uid_got", NUMBER)]);
    lacks(&mut exchange, &["uid_set", "uid_reset"]);
}

#[test]
fn number_that_is_given_is_one_for_the_whole_request() {
    let mut exchange = Case { server: "userid on; userid_service 1;", ..Case::default() }.begin();
    lacks(&mut exchange, &["uid_got"]);
    let given = shown(&mut exchange, "uid_set").expect("a number");
    assert!(given.starts_with(&format!("uid={:08X}", u32::from_ne_bytes([0, 0, 0, 1]))), "{given}");
    shows(&mut exchange, &[("uid_set", &given)]);
}

#[test]
fn nothing_is_shown_where_it_is_off_and_nothing_given_where_it_is_for_logs() {
    for (server, got) in [("", None), ("userid off;", None), ("userid log;", Some(NUMBER))] {
        let mut exchange = Case { fields: COOKIE, server, ..Case::default() }.begin();
        assert_eq!(shown(&mut exchange, "uid_got").as_deref(), got, "{server}");
        lacks(&mut exchange, &["uid_set"]);
    }
}
