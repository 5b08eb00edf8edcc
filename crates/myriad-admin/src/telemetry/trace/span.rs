//! Encoder of a span as an OTLP message (`opentelemetry.proto.trace.v1.Span`).

use std::borrow::Cow;

use crate::telemetry::trace::protobuf::{bytes, fixed32, fixed64, message, number};
use myriad_exchange::trace_context::{SpanId, TraceId};

/// Maximum length of an attribute's text, a span's name and its `tracestate`, in bytes; longer texts are truncated.
pub const LONGEST_TEXT: usize = 4096;

/// Kind of a span in OpenTelemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Operation within this server.
    Internal = 1,
    /// Request handled by this server.
    Server = 2,
    /// Request sent by this server.
    Client = 3,
}

/// Encoder of a span. Texts are converted to UTF-8 and truncated, so that no client input makes a collector reject the
/// message.
#[derive(Debug)]
pub struct SpanWriter(Vec<u8>);

impl SpanWriter {
    /// Starts a span with its trace, its own identifier and its parent (`None` for a root span). `times_us` are its
    /// start and end in microseconds since the Unix epoch; an end before the start is replaced by the start.
    pub fn new(
        trace: TraceId,
        span: SpanId,
        parent: Option<SpanId>,
        (kind, name): (SpanKind, &[u8]),
        times_us: (u64, u64),
    ) -> Self {
        let mut out = Vec::with_capacity(512);
        bytes(1, trace.bytes(), &mut out);
        bytes(2, span.bytes(), &mut out);
        if let Some(parent) = parent {
            bytes(4, parent.bytes(), &mut out);
        }
        bytes(5, text(name).as_bytes(), &mut out);
        number(6, kind as u64, &mut out);
        let (start_us, end_us) = times_us;
        fixed64(7, start_us.saturating_mul(1000), &mut out);
        fixed64(8, end_us.max(start_us).saturating_mul(1000), &mut out);
        Self(out)
    }

    /// Sets the `tracestate` of the span, if there is one, and the flag that it is sampled.
    pub fn state(&mut self, state: Option<&[u8]>) {
        if let Some(state) = state {
            bytes(3, text(state).as_bytes(), &mut self.0);
        }
        fixed32(16, 1, &mut self.0);
    }

    /// Adds a text attribute.
    pub fn text(&mut self, key: &str, value: &[u8]) {
        self.attribute(key, |out| bytes(1, text(value).as_bytes(), out));
    }

    /// Adds an attribute that is a list with one text.
    pub fn list(&mut self, key: &str, value: &[u8]) {
        self.attribute(key, |out| {
            message(5, out, |list| message(1, list, |out| bytes(1, text(value).as_bytes(), out)));
        });
    }

    /// Adds a numeric attribute.
    pub fn number(&mut self, key: &str, value: u64) {
        self.attribute(key, |out| number(3, value, out));
    }

    /// Adds a boolean attribute.
    pub fn flag(&mut self, key: &str, value: bool) {
        self.attribute(key, |out| number(2, u64::from(value), out));
    }

    /// Adds an event; `at_us` is its time in microseconds since the Unix epoch.
    pub fn event(&mut self, name: &str, at_us: u64) {
        message(11, &mut self.0, |event| {
            fixed64(1, at_us.saturating_mul(1000), event);
            bytes(2, name.as_bytes(), event);
        });
    }

    /// Sets the status of the span to error.
    pub fn set_error_status(&mut self) {
        message(15, &mut self.0, |status| number(3, 2, status));
    }

    /// Returns the encoded span.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    fn attribute(&mut self, key: &str, value: impl FnOnce(&mut Vec<u8>)) {
        message(9, &mut self.0, |out| attribute(key, value, out));
    }
}

/// Appends `opentelemetry.proto.common.v1.KeyValue` without a field header; `value` appends the value.
pub(crate) fn attribute(key: &str, value: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    bytes(1, key.as_bytes(), out);
    message(2, out, value);
}

/// Converts a text to UTF-8, because a collector rejects a whole batch with invalid text, and truncates it to
/// [`LONGEST_TEXT`] bytes.
fn text(value: &[u8]) -> Cow<'_, str> {
    let is_whole = value.len() <= LONGEST_TEXT;
    let value = &value[..value.len().min(LONGEST_TEXT)];
    let text = match std::str::from_utf8(value) {
        // The text was cut within a character.
        Err(error) if !is_whole && error.error_len().is_none() => {
            String::from_utf8_lossy(&value[..error.valid_up_to()])
        }
        _ => String::from_utf8_lossy(value),
    };
    if text.len() <= LONGEST_TEXT {
        return text;
    }
    // Each replacement character has three bytes, so the converted text may be longer than the original.
    Cow::Owned(text[..text.floor_char_boundary(LONGEST_TEXT)].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_span_is_utf8_whatever_came() {
        assert_eq!(text(b"a\xffb"), "a\u{fffd}b");
        let long = "\u{e9}".repeat(LONGEST_TEXT);
        assert_eq!(text(&long.as_bytes()[..=LONGEST_TEXT]).len(), LONGEST_TEXT);
        assert_eq!(text(&[b"x", long.as_bytes()].concat()).len(), LONGEST_TEXT - 1);
        assert_eq!(text(&[0xff; 2 * LONGEST_TEXT]).len(), LONGEST_TEXT / 3 * 3);
    }

    #[test]
    fn span_never_ends_before_it_begins() {
        let span = SpanWriter::new(TraceId::of(1, 2), SpanId::of(3), None, (SpanKind::Server, b"/"), (5, 4))
            .finish();
        let at = span.windows(9).position(|part| part[0] == 8 << 3 | 1).expect("an end");
        assert_eq!(span[at + 1..at + 9], 5000_u64.to_le_bytes());
    }
}
