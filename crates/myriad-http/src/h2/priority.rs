//! Priority of an HTTP/2 or HTTP/3 response (RFC 9218 §4).

use crate::structured::{StructuredValue, dictionary};

/// Priority of a response (RFC 9218), from the `Priority` field or a `PRIORITY_UPDATE` frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// Urgency, from 0 (most urgent) to 7.
    pub urgency: u8,
    /// True if the client can use a part of the response before the rest arrives. Incremental responses are sent in
    /// turns; other responses are sent one after the other.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

impl Priority {
    /// Parses the value of a `Priority` field. Unknown parameters and invalid values are ignored; a field with a syntax
    /// error gives the default.
    pub fn parse(value: &[u8]) -> Self {
        let mut priority = Self::default();
        for (key, value) in dictionary(value).unwrap_or_default() {
            match (key, value) {
                (b"u", StructuredValue::Integer(urgency @ 0..=7)) => priority.urgency = urgency as u8,
                (b"i", StructuredValue::True) => priority.incremental = true,
                (b"i", StructuredValue::False) => priority.incremental = false,
                _ => {}
            }
        }
        priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_priority_parameters_have_defaults() {
        let of = |value: &[u8]| Priority::parse(value);
        assert_eq!(of(b"u=0, i"), Priority { urgency: 0, incremental: true });
        assert_eq!(of(b"i=?0,u=7"), Priority { urgency: 7, incremental: false });
        assert_eq!(of(b"u=8, i=1, x=2"), Priority::default());
        assert_eq!(of(b"u=,,"), Priority::default());
        assert_eq!(of(b""), Priority::default());
    }
}
