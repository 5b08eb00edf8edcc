//! What a request is in traces.

use std::cell::{Cell, RefCell};

use myriad_trace::{SpanId, TraceId, TraceParent};

/// What a request is in traces; its subrequests share it, and so does the fetch of its page.
#[derive(Debug)]
pub struct Traced {
    /// The trace: the client's, where that is taken over.
    pub trace: TraceId,
    /// The request's own span.
    pub span: SpanId,
    /// The span of the client that it comes from, where that is taken over.
    pub parent: Option<TraceParent>,
    /// `tracestate`, likewise.
    pub state: Option<Vec<u8>>,
    /// Whether the request is recorded; none until a place has said it.
    pub sampled: Cell<Option<bool>>,
    /// What it has waited for, in order.
    pub waits: RefCell<Vec<Wait>>,
}

/// A time in which a request has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// For what: the directive by which it had to.
    pub what: &'static str,
    /// Its begin and its end, microseconds since the epoch.
    pub times_us: (u64, u64),
}

impl Traced {
    /// Whether the request is recorded.
    pub fn is_sampled(&self) -> bool {
        self.sampled.get() == Some(true)
    }

    /// What an origin is told: this request is who asks.
    pub fn for_origins(&self) -> TraceParent {
        TraceParent { trace: self.trace, span: self.span, sampled: self.is_sampled() }
    }
}
