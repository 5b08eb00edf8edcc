//! How soon a client wants an answer (RFC 9218 §4).

use crate::structured::{Value, dictionary};

/// Urgency and incremental, of the `Priority` field and of `PRIORITY_UPDATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0 is the most urgent, 7 the least.
    pub urgency: u8,
    /// Whether parts of the answer are of use: such answers share the connection, others go one after the other.
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

impl Priority {
    /// Reads a field's value; what is unknown or out of range counts as not said.
    pub fn parse(value: &[u8]) -> Self {
        let mut priority = Self::default();
        for (key, value) in dictionary(value).unwrap_or_default() {
            match (key, value) {
                (b"u", Value::Integer(urgency @ 0..=7)) => priority.urgency = urgency as u8,
                (b"i", Value::True) => priority.incremental = true,
                (b"i", Value::False) => priority.incremental = false,
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
    fn what_is_not_said_is_the_default() {
        let of = |value: &[u8]| Priority::parse(value);
        assert_eq!(of(b"u=0, i"), Priority { urgency: 0, incremental: true });
        assert_eq!(of(b"i=?0,u=7"), Priority { urgency: 7, incremental: false });
        assert_eq!(of(b"u=8, i=1, x=2"), Priority::default());
        assert_eq!(of(b"u=,,"), Priority::default());
        assert_eq!(of(b""), Priority::default());
    }
}
