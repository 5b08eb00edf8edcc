//! Traces as pure data: identifiers of a request, spans, and their encoding.
//!
//! | file | content |
//! |---|---|
//! | `ids` | identifiers of traces and spans |
//! | `context` | `traceparent` and `tracestate` (W3C Trace Context), parsing and formatting |
//! | `protobuf` | encoding and decoding of the Protocol Buffers types that the messages need |
//! | `span` | span as an OTLP message |
//! | `batch` | spans of one resource: request for a collector, and parsing of its response |

#![forbid(unsafe_code)]

mod batch;
mod context;
mod ids;
mod protobuf;
mod span;

pub use batch::{Resource, rejected};
pub use context::{MOST_STATE, TraceParent, trace_state};
pub use ids::{SpanId, TraceId};
pub use span::{Kind, LONGEST_TEXT, SpanWriter};
