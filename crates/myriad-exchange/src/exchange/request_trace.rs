//! Trace context of a request.

use std::cell::{Cell, RefCell};

use crate::trace_context::{SpanId, TraceId, TraceParent};

/// Trace context of a request, shared with its subrequests and the fetch of its page.
#[derive(Debug)]
pub struct RequestTrace {
    /// Trace: that of the client if its trace context is adopted, otherwise a new trace.
    pub trace: TraceId,
    /// Span of the request.
    pub span: SpanId,
    /// Parent span from the client, if its trace context is adopted.
    pub parent: Option<TraceParent>,
    /// `tracestate` from the client, if its trace context is adopted.
    pub state: Option<Vec<u8>>,
    /// Set if the request is recorded; `None` until a place has decided.
    pub sampled: Cell<Option<bool>>,
    /// Waits of the request, in order.
    pub waits: RefCell<Vec<RecordedWait>>,
}

/// Interval in which a request waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedWait {
    /// Directive that caused the wait.
    pub what: &'static str,
    /// Start and finish, in microseconds since the epoch.
    pub times_us: (u64, u64),
}

impl RequestTrace {
    /// Returns whether the request is recorded.
    pub fn is_sampled(&self) -> bool {
        self.sampled.get() == Some(true)
    }

    /// Returns the trace context for origins, with this request as the parent span.
    pub fn for_origins(&self) -> TraceParent {
        TraceParent { trace: self.trace, span: self.span, sampled: self.is_sampled() }
    }
}
