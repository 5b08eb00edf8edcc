//! Traces as pure data: who a request is in them, what is told of it, and the bytes in which that is sent.
//!
//! | file | what |
//! |---|---|
//! | `ids` | the numbers of traces and spans |
//! | `context` | `traceparent` and `tracestate` (W3C Trace Context), read and written |
//! | `protobuf` | the few forms of Protocol Buffers that the messages need, written and read |
//! | `span` | a span as a message of OTLP |
//! | `batch` | spans of one resource together: the request that a collector is sent, and what its answer says |

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
