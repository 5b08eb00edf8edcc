//! W3C Trace Context: identifiers of traces and spans, and the header fields `traceparent` and `tracestate`.

mod context;
mod ids;

pub use context::{MAX_STATE, TraceParent, trace_state};
pub use ids::{SpanId, TraceId};
