//! `$otel_*`.

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::Moment;
use myriad_exchange::runtime::RowValue::Made;

use crate::tracing_rules::traced;

/// Trace identifiers of a request. They differ for each request, so rules that read them are evaluated for each
/// request.
pub(crate) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new("otel", "otel_trace_id", &[Moment], Made(trace_id)).yielding(),
    RequestVariable::new("otel", "otel_span_id", &[Moment], Made(span_id)).yielding(),
    RequestVariable::new("otel", "otel_parent_id", &[Moment], Made(parent_id)).yielding(),
    RequestVariable::new("otel", "otel_parent_sampled", &[Moment], Made(parent_sampled)).yielding(),
];

fn trace_id(request: &Request, out: &mut Vec<u8>) -> bool {
    traced(request).trace.write(out);
    true
}

fn span_id(request: &Request, out: &mut Vec<u8>) -> bool {
    traced(request).span.write(out);
    true
}

fn parent_id(request: &Request, out: &mut Vec<u8>) -> bool {
    let parent = traced(request).parent;
    if let Some(parent) = parent {
        parent.span.write(out);
    }
    parent.is_some()
}

fn parent_sampled(request: &Request, out: &mut Vec<u8>) -> bool {
    let is_sampled = traced(request).parent.is_some_and(|parent| parent.sampled);
    out.push(if is_sampled { b'1' } else { b'0' });
    true
}

#[cfg(test)]
mod tests {
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
        assert_eq!(variable_value(&mut exchange, "otel_span_id"), Some(span), "it stays the same");
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
}
