//! What a place says of traces, and what a request is in them.

use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::exchange::{Exchange, Request, Traced};
use myriad_log::Level;
use myriad_script::Template;
use myriad_trace::{TraceParent, trace_state};

use crate::exporter::Exporter;
use crate::numbers;
use crate::settings::Propagation;

/// `otel_trace`.
pub(crate) enum Rule {
    /// Nobody has written it: a place behind an internal redirect may say it.
    Unsaid,
    /// The same for each request.
    Said(bool),
    /// What a text comes to: `on` or `1`.
    Computed(Template),
}

/// What a place says of traces.
pub(crate) struct TracePlace {
    /// What spans are sent by; none where the configuration has no exporter.
    pub exporter: Arc<Option<Exporter>>,
    /// `otel_trace`.
    pub rule: Rule,
    /// `otel_trace_context`.
    pub context: Propagation,
    /// `otel_span_name`.
    pub name: Option<Template>,
    /// The name of the location; empty outside of one.
    pub route: Box<[u8]>,
    /// `otel_span_attr`.
    pub attributes: Vec<(Box<str>, Template)>,
}

impl TracePlace {
    /// Whether a request is recorded; none where nobody has said it.
    pub(crate) fn says(&self, exchange: &mut Exchange) -> Option<bool> {
        let template = match &self.rule {
            Rule::Unsaid => return None,
            Rule::Said(said) => return Some(*said),
            Rule::Computed(template) => template,
        };
        let Exchange { request, frame } = exchange;
        let mut value = Vec::new();
        if let Err(error) = template.eval(request, frame, &mut value) {
            request.log(Level::Error, format_args!("otel_trace: {error}"));
            return Some(false);
        }
        Some(matches!(&value[..], b"on" | b"1"))
    }
}

/// What a request is in traces, found out where that has not been done: by the place where it is.
pub(crate) fn traced(request: &Request) -> &Rc<Traced> {
    request.received.trace.get_or_init(|| {
        let place = request.place().features.get::<Arc<TracePlace>>();
        let extracts = place.is_some_and(|place| place.context.extracts);
        let parent = if extracts { sent_parent(request) } else { None };
        let state = parent.and_then(|_| trace_state(request.received.head.fields().get_all(b"tracestate")));
        Rc::new(Traced {
            trace: parent.map_or_else(numbers::trace, |parent| parent.trace),
            span: numbers::span(),
            parent,
            state,
            sampled: None.into(),
            waits: Vec::new().into(),
        })
    })
}

/// Who asks, as the client has said it; none where it said nothing that is valid, or said it twice.
fn sent_parent(request: &Request) -> Option<TraceParent> {
    let mut sent = request.received.head.fields().get_all(b"traceparent");
    let parent = TraceParent::read(sent.next()?)?;
    sent.next().is_none().then_some(parent)
}
