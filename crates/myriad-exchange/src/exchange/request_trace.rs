//! Trace context (W3C `traceparent`) of a request.

use std::cell::{Cell, RefCell};

use crate::trace_context::{SpanId, TraceId, TraceParent};

/// Trace context (W3C `traceparent`) of a request, shared with its subrequests and the fetch of its page.
#[derive(Debug)]
pub struct RequestTrace {
    /// Trace identifier: that of the client if its trace context is used, otherwise a new one.
    pub trace: TraceId,
    /// Span identifier of the request.
    pub span: SpanId,
    /// Parent span in the client's trace context; `None` if that is missing or not used.
    pub parent: Option<TraceParent>,
    /// `tracestate` in the client's trace context; `None` if that is missing or not used.
    pub state: Option<Vec<u8>>,
    /// True if the request is recorded for tracing; `None` until a location has decided it.
    pub sampled: Cell<Option<bool>>,
    /// The first 64 intervals in which the request waited so far, in the order in which they were completed.
    pub waits: RefCell<Vec<RecordedWait>>,
}

/// Interval in which a request waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedWait {
    /// Name of the directive or operation that caused the wait.
    pub what: &'static str,
    /// Start and end of the wait, in microseconds of the process clock.
    pub times_us: (u64, u64),
}

impl RequestTrace {
    /// Returns true if the request is recorded for tracing.
    pub fn is_sampled(&self) -> bool {
        self.sampled.get() == Some(true)
    }

    /// Returns the trace context to send to origins, with this request as the parent span.
    pub fn for_origins(&self) -> TraceParent {
        TraceParent { trace: self.trace, span: self.span, sampled: self.is_sampled() }
    }
}
