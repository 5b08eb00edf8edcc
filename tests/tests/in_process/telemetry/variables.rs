//! Tests of the variables `$otel_*`.

use myriad_serve::testing::variables::{VariableCase, assert_unset, assert_variables, variable_value};

const SENT: (&str, &str) = ("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b9c7c989f97918e1-01");

#[test]
fn parent_is_shown_where_it_is_taken_over() {
    let server = "otel_trace_context extract;";
    let mut exchange = VariableCase { server, fields: &[SENT], ..VariableCase::default() }.begin();
    assert_variables(
        &mut exchange,
        &[
            ("otel_trace_id", "0af7651916cd43dd8448eb211c80319c"),
            ("otel_parent_id", "b9c7c989f97918e1"),
            ("otel_parent_sampled", "1"),
        ],
    );
    let span = variable_value(&mut exchange, "otel_span_id").expect("a span");
    assert!(span.len() == 16 && span != "b9c7c989f97918e1", "{span}");
    assert_eq!(variable_value(&mut exchange, "otel_span_id"), Some(span), "the identifier does not change");
}

#[test]
fn ignored_invalid_or_repeated_trace_parent_is_not_trusted() {
    let twice = &[SENT, SENT][..];
    for (server, fields) in [
        ("", &[SENT][..]),
        ("otel_trace_context inject;", &[SENT]),
        ("otel_trace_context propagate;", &[("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b9c7")]),
        ("otel_trace_context extract;", twice),
    ] {
        let mut exchange = VariableCase { server, fields, ..VariableCase::default() }.begin();
        assert_unset(&mut exchange, &["otel_parent_id"]);
        assert_variables(&mut exchange, &[("otel_parent_sampled", "0")]);
        let trace = variable_value(&mut exchange, "otel_trace_id").expect("a trace");
        assert!(trace.len() == 32 && trace != "0af7651916cd43dd8448eb211c80319c", "{trace}");
    }
}
