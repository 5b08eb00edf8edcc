//! Encoding of a batch of spans (`opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest`), and decoding of
//! the response.

use crate::telemetry::trace::protobuf::{ProtobufValue, bytes, message, next};
use crate::telemetry::trace::span::attribute;

/// Encoded OpenTelemetry resource and instrumentation scope, the same in each batch of an exporter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    resource: Vec<u8>,
    scope: Vec<u8>,
}

impl Resource {
    /// Creates a resource with these attributes; `version` is the version of this server.
    pub fn new<'a>(attributes: impl Iterator<Item = (&'a str, &'a str)>, version: &str) -> Self {
        let mut resource = Vec::new();
        for (key, value) in attributes {
            message(1, &mut resource, |out| attribute(key, |out| bytes(1, value.as_bytes(), out), out));
        }
        let mut scope = Vec::new();
        bytes(1, b"myriad", &mut scope);
        bytes(2, version.as_bytes(), &mut scope);
        Self { resource, scope }
    }

    /// Returns the encoded request to a collector with these spans.
    pub fn request(&self, spans: &[Vec<u8>]) -> Vec<u8> {
        let mut scoped = Vec::with_capacity(spans.iter().map(|span| span.len() + 8).sum::<usize>() + 64);
        bytes(1, &self.scope, &mut scoped);
        for span in spans {
            bytes(2, span, &mut scoped);
        }
        let mut request = Vec::with_capacity(scoped.len() + self.resource.len() + 32);
        message(1, &mut request, |out| {
            bytes(1, &self.resource, out);
            bytes(2, &scoped, out);
        });
        request
    }
}

/// Decodes a collector's response (`ExportTraceServiceResponse`): returns the number of rejected spans and its message;
/// `None` if the number is 0 and there is no message, or the response cannot be decoded.
pub fn rejected(answer: &[u8]) -> Option<(u64, String)> {
    let (mut answer, mut found) = (answer, None);
    while let Some((field, value)) = next(&mut answer) {
        if let (1, ProtobufValue::Bytes(mut partial)) = (field, value) {
            let (mut count, mut why) = (0, String::new());
            while let Some((field, value)) = next(&mut partial) {
                match (field, value) {
                    (1, ProtobufValue::Number(number)) => count = number,
                    (2, ProtobufValue::Bytes(text)) => why = String::from_utf8_lossy(text).into_owned(),
                    _ => {}
                }
            }
            found = (count > 0 || !why.is_empty()).then_some((count, why));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::trace::protobuf::number;

    #[test]
    fn rejected_spans_are_reported_with_reason() {
        assert_eq!(rejected(b""), None);
        let mut answer = Vec::new();
        message(1, &mut answer, |out| {
            number(1, 3, out);
            bytes(2, b"too old", out);
        });
        assert_eq!(rejected(&answer), Some((3, "too old".to_owned())));
        for end in 0..answer.len() {
            rejected(&answer[..end]);
        }
    }
}
