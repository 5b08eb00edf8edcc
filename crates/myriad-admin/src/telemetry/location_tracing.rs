//! Tracing of a location's requests: sampling decision at the start, export of the spans at the end.

use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::exchange::{Exchange, Request, RequestTrace, Tracing};

use crate::telemetry::tracing_rules::{TracingRules, traced};
use crate::telemetry::{child_spans, span};

/// Tracing of the requests to a location, or of a server for requests outside of locations.
pub(crate) struct LocationTracing(pub Arc<TracingRules>);

impl Tracing for LocationTracing {
    fn begin(&self, exchange: &mut Exchange) {
        let request = &exchange.request;
        let has_decision = |traced: &Rc<RequestTrace>| traced.sampled.get().is_some();
        // The first location with `otel_trace` decides for the request and for its subrequests.
        let is_decided = request.is_subrequest() || request.received.trace.get().is_some_and(has_decision);
        let decision = if is_decided { None } else { self.0.sampling_decision(exchange) };
        // The trace context sent to an origin depends on the settings of each location.
        let context = self.0.context;
        if decision.is_none() && !context.injects && (is_decided || !context.extracts) {
            return;
        }
        let traced = Rc::clone(traced(&exchange.request));
        if decision.is_some() {
            traced.sampled.set(decision);
        }
        if context.injects {
            inject(&mut exchange.request, &traced);
        }
    }

    fn end(&self, exchange: &mut Exchange) {
        let Some(exporter) = &*self.0.exporter else { return };
        // A request that could not be parsed is not reported.
        if exchange.request.route.uri.is_empty() {
            return;
        }
        let known = exchange.request.received.trace.get().and_then(|traced| traced.sampled.get());
        // If no decision was made yet, the request used the shortcut or was answered before any location: decide now.
        let Some(sampled) = known.or_else(|| self.0.sampling_decision(exchange)) else { return };
        if sampled {
            let traced = Rc::clone(traced(&exchange.request));
            traced.sampled.set(Some(true));
            let request = span::of(&self.0, &traced, exchange);
            let parts = child_spans::of(&traced, &exchange.request);
            let spans = std::iter::once(request).chain(parts);
            exporter.send(spans, &exchange.request.runtime().zone_log);
        }
    }
}

/// Replaces `traceparent` and `tracestate` of the request by those that origins receive from this server; removes
/// `tracestate` if the trace has none.
fn inject(request: &mut Request, traced: &RequestTrace) {
    let mut value = Vec::with_capacity(64);
    traced.for_origins().write(&mut value);
    let fields = request.received.head.fields_mut();
    fields.set(b"traceparent", &value);
    match &traced.state {
        Some(state) => fields.set(b"tracestate", state),
        None => _ = fields.remove(b"tracestate"),
    }
}
