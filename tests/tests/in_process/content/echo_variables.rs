//! Tests of the variables `$echo_*`.

use myriad_serve::testing::variables::{VariableCase, assert_variables, variable_value};

#[test]
fn request_is_shown() {
    let mut exchange = VariableCase { fields: &[("X-A", "1")], ..VariableCase::default() }.begin();
    let uri = variable_value(&mut exchange, "uri").expect("a URI");
    assert_variables(
        &mut exchange,
        &[("echo_request_method", "GET"), ("echo_request_uri", &uri), ("echo_cacheable_request_uri", &uri)],
    );
    let head = variable_value(&mut exchange, "echo_client_request_headers").expect("a head");
    assert!(head.starts_with("GET /") && head.contains("\r\nX-A: 1\r\n"), "{head}");
    let elapsed = variable_value(&mut exchange, "echo_timer_elapsed").expect("a time");
    assert!(elapsed.split_once('.').is_some_and(|(_, part)| part.len() == 3), "{elapsed}");
}
