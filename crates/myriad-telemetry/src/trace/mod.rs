//! Traces as pure data: identifiers of a request, spans, and their encoding.
//!
//! | file | content |
//! |---|---|
//! | `ids` | identifiers of traces and spans |
//! | `context` | `traceparent` and `tracestate` (W3C Trace Context), parsing and formatting |
//! | `protobuf` | encoding and decoding of the Protocol Buffers types that the messages need |
//! | `span` | span as an OTLP message |
//! | `batch` | spans of one resource: request for a collector, and parsing of its response |

mod batch;
mod protobuf;
mod span;

pub use batch::{Resource, rejected};
pub use span::{LONGEST_TEXT, SpanKind, SpanWriter};
