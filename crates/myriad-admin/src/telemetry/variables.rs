//! Variables `$otel_*`: identifiers of a request's trace, span and parent span.

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::runtime::Reads::Moment;
use myriad_exchange::runtime::RowValue::Made;

use crate::telemetry::tracing_rules::traced;

/// Variables with the identifiers of a request's trace, span and parent span, and the parent's sampling flag. They
/// differ for each request, so rules that read them are evaluated for each request.
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
