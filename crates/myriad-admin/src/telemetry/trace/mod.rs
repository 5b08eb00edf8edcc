//! OTLP messages of traces, as pure data.
//!
//! | file | content |
//! |---|---|
//! | `protobuf` | encoding and decoding of the Protocol Buffers types that the messages need |
//! | `span` | encoding of a span |
//! | `batch` | request to a collector with the spans of one resource, and decoding of its response |

mod batch;
mod protobuf;
mod span;

pub use batch::{Resource, rejected};
pub use span::{LONGEST_TEXT, SpanKind, SpanWriter};
