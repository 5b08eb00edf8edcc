//! Tracing settings of a place, and the trace context of a request.

use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::exchange::{Exchange, Request, RequestTrace};
use myriad_exchange::trace_context::{TraceParent, trace_state};
use myriad_log::LogLevel;
use myriad_script::Template;

use crate::exporter::Exporter;
use crate::ids;
use crate::settings::Propagation;

/// `otel_trace`.
pub(crate) enum TraceCondition {
    /// Not configured: a place reached by an internal redirect may decide.
    NotConfigured,
    /// Constant.
    Constant(bool),
    /// Text that enables tracing if it evaluates to `on` or `1`.
    Computed(Template),
}

/// Tracing settings of a place.
pub(crate) struct TracingRules {
    /// Exporter of spans; `None` if the configuration has no exporter.
    pub exporter: Arc<Option<Exporter>>,
    /// `otel_trace`.
    pub rule: TraceCondition,
    /// `otel_trace_context`.
    pub context: Propagation,
    /// `otel_span_name`.
    pub name: Option<Template>,
    /// Name of the location; empty outside of locations.
    pub route: Box<[u8]>,
    /// `otel_span_attr`.
    pub attributes: Vec<(Box<str>, Template)>,
}

impl TracingRules {
    /// Returns whether a request is recorded; `None` if this is not configured.
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

/// Returns the trace context of a request. It is created on first use, with the settings of the current place.
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
