//! Tests of the variables `$proxy_*`.

use myriad_http::HttpVersion;
use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};

#[test]
fn forwarded_addresses_end_with_the_client_s() {
    let chain = |fields: &[(&str, &str)]| {
        variable_value(
            &mut VariableCase { fields, ..VariableCase::default() }.begin(),
            "proxy_add_x_forwarded_for",
        )
        .unwrap()
    };
    assert_eq!(chain(&[]), "127.0.0.1");
    assert_eq!(chain(&[("X-Forwarded-For", "10.0.0.1")]), "10.0.0.1, 127.0.0.1");
}

#[test]
fn the_url_of_proxy_pass_is_shown_in_parts() {
    let server = "location / { proxy_pass http://127.0.0.1:81/base/; }";
    let line = ("GET", "/a?b", HttpVersion::Http11);
    let mut exchange = VariableCase { line, server, ..VariableCase::default() }.begin();
    assert_unset(
        &mut exchange,
        &["proxy_host", "proxy_port", "proxy_internal_host", "proxy_internal_uri", "proxy_internal_scheme"],
    );
    let places = &exchange.request.site.runtime.places;
    let location = places.iter().position(|place| place.handler.origin().is_some()).unwrap();
    exchange.request.route.place = location as u32;
    assert_variables(
        &mut exchange,
        &[
            ("proxy_host", "127.0.0.1:81"),
            ("proxy_port", "81"),
            ("proxy_internal_host", "127.0.0.1:81"),
            ("proxy_internal_uri", "/base/a?b"),
            ("proxy_internal_scheme", "http"),
        ],
    );
}
