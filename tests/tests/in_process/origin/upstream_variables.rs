//! Tests of the variables `$upstream_*`.

use std::cell::RefCell;
use std::rc::Rc;

use myriad_exchange::exchange::StoredFields;
use myriad_http::{Fields, ResponseHead};
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};

#[test]
fn tries_of_an_origin_are_listed() {
    let mut exchange = VariableCase::default().begin();
    let names = ["upstream_addr", "upstream_status", "upstream_response_time"];
    assert_unset(&mut exchange, &names);
    let origin = exchange.request.origin_mut();
    origin.attempts.record_unresolved("php");
    origin.attempts.record_unresolved("other");
    assert_variables(
        &mut exchange,
        &[
            ("upstream_addr", "php : other"),
            ("upstream_status", "502 : 502"),
            ("upstream_connect_time", "- : -"),
            ("upstream_header_time", "- : -"),
            ("upstream_response_length", "0 : 0"),
            ("upstream_bytes_sent", "0 : 0"),
            ("upstream_bytes_received", "0 : 0"),
        ],
    );
    assert!(variable_value(&mut exchange, "upstream_response_time").unwrap().contains(" : "));
}

#[test]
fn the_head_of_an_origin_is_shown() {
    let mut exchange = VariableCase::default().begin();
    assert_unset(&mut exchange, &["upstream_http_x_a", "upstream_cookie_a", "upstream_trailer_x_a"]);
    let lines =
        [("X-A", "1"), ("X-B", "2"), ("X-B", "3"), ("Set-Cookie", "a=b; Path=/"), ("Set-Cookie", "C = d")];
    let head = ResponseHead { fields: lines.into_iter().collect(), ..ResponseHead::default() };
    let trailers: Fields = [("X-Sum", "7")].into_iter().collect();
    let origin = exchange.request.origin_mut();
    (origin.head, origin.trailers) = (Some(head), Some(Rc::new(RefCell::new(trailers))));
    assert_variables(
        &mut exchange,
        &[
            ("upstream_http_x_a", "1"),
            ("upstream_http_x_b", "2, 3"),
            ("upstream_cookie_a", "b"),
            ("upstream_cookie_c", "d"),
            ("upstream_trailer_x_sum", "7"),
        ],
    );
    assert_unset(&mut exchange, &["upstream_http_x_c", "upstream_cookie_b", "upstream_trailer_x_a"]);
    let stored: Fields = [("X-A", "stored")].into_iter().collect();
    exchange.request.cache.origin_fields = Some(StoredFields::Head(stored.into()));
    assert_variables(&mut exchange, &[("upstream_http_x_a", "stored")]);
    assert_unset(&mut exchange, &["upstream_http_x_b", "upstream_cookie_a"]);
}
