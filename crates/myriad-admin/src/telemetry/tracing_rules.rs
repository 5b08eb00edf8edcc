//! Compiled tracing settings of a location or server, and creation of a request's trace context.

use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::exchange::{Exchange, Request, RequestTrace};
use myriad_exchange::trace_context::{TraceParent, trace_state};
use myriad_log::LogLevel;
use myriad_script::Template;

use crate::telemetry::exporter::Exporter;
use crate::telemetry::ids;
use crate::telemetry::settings::Propagation;

/// Compiled `otel_trace`.
pub(crate) enum TraceCondition {
    /// Not configured here: a location reached by an internal redirect may decide.
    NotConfigured,
    /// Value without variables: true for `on` and `1`, false for `off` and `0`.
    Constant(bool),
    /// Text that enables tracing if it evaluates to `on` or `1`.
    Computed(Template),
}

/// Compiled tracing settings of a location, or of a server for requests outside of locations.
pub(crate) struct TracingRules {
    /// Exporter of the configuration, shared by all locations; `None` if the configuration has no `otel_exporter`.
    pub exporter: Arc<Option<Exporter>>,
    /// `otel_trace`: condition under which requests are traced.
    pub rule: TraceCondition,
    /// `otel_trace_context`: exchange of trace context with clients and origins.
    pub context: Propagation,
    /// `otel_span_name`: name of the spans of requests; `None` (or an empty result) for the name of the location, or
    /// the method outside of locations.
    pub name: Option<Template>,
    /// Name of the location; empty outside of locations.
    pub route: Box<[u8]>,
    /// `otel_span_attr`: names and values of additional attributes of spans.
    pub attributes: Vec<(Box<str>, Template)>,
}

impl TracingRules {
    /// Returns whether the spans of a request are exported; `None` if `otel_trace` is not configured here. If its text
    /// cannot be evaluated, logs the error and returns false.
    pub(crate) fn sampling_decision(&self, exchange: &mut Exchange) -> Option<bool> {
        let template = match &self.rule {
            TraceCondition::NotConfigured => return None,
            TraceCondition::Constant(enabled) => return Some(*enabled),
            TraceCondition::Computed(template) => template,
        };
        let Exchange { request, frame } = exchange;
        let mut value = Vec::new();
        if let Err(error) = template.eval(request, frame, &mut value) {
            request.log(LogLevel::Error, format_args!("otel_trace: {error}"));
            return Some(false);
        }
        Some(matches!(&value[..], b"on" | b"1"))
    }
}

/// Returns the trace context of a request. The first call creates it by the settings of the current location: with
/// `otel_trace_context extract` it continues the trace of a valid `traceparent` of the client, otherwise it begins a
/// new trace.
pub(crate) fn traced(request: &Request) -> &Rc<RequestTrace> {
    request.received.trace.get_or_init(|| {
        let place = request.place().features.get::<Arc<TracingRules>>();
        let extracts = place.is_some_and(|place| place.context.extracts);
        let parent = if extracts { client_trace_parent(request) } else { None };
        let state = parent.and_then(|_| trace_state(request.received.head.fields().get_all(b"tracestate")));
        Rc::new(RequestTrace {
            trace: parent.map_or_else(ids::trace, |parent| parent.trace),
            span: ids::span(),
            parent,
            state,
            sampled: None.into(),
            waits: Vec::new().into(),
        })
    })
}

/// Returns the `traceparent` sent by the client; `None` if it is missing, invalid or repeated.
fn client_trace_parent(request: &Request) -> Option<TraceParent> {
    let mut sent = request.received.head.fields().get_all(b"traceparent");
    let parent = TraceParent::read(sent.next()?)?;
    sent.next().is_none().then_some(parent)
}
