//! Fields that `Connection` names: they were meant for this hop alone (RFC 9110 section 7.6.1).

use std::borrow::Cow;

use myriad_http::{Fields, Known};

/// The names in a head's `Connection`.
pub(super) struct Nominated<'a>(Cow<'a, [u8]>);

impl<'a> Nominated<'a> {
    /// Those of a head; most name nothing but what becomes of the connection.
    pub(super) fn of(fields: &'a Fields) -> Self {
        let first = fields.known(Known::Connection).unwrap_or_default();
        if fields.is_repeated(Known::Connection) {
            let all: Vec<_> = fields.known_all(Known::Connection).collect();
            return Self(Cow::Owned(all.join(&b","[..])));
        }
        let usual = [&b"close"[..], b"keep-alive", b"upgrade"];
        let names = if usual.iter().any(|usual| first.eq_ignore_ascii_case(usual)) { b"" } else { first };
        Self(Cow::Borrowed(names))
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a field is among them.
    pub(super) fn has(&self, name: &[u8]) -> bool {
        !self.0.is_empty()
            && self.0.split(|byte| *byte == b',').any(|option| option.trim_ascii().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_field_counts() {
        let mut fields = Fields::new();
        assert!(!Nominated::of(&fields).has(b"X-A"));
        fields.push(b"Connection", b"keep-alive");
        assert!(!Nominated::of(&fields).has(b"Keep-Alive"));
        fields.push(b"connection", b"X-A , x-b");
        let nominated = Nominated::of(&fields);
        assert!(nominated.has(b"x-a") && nominated.has(b"X-B") && !nominated.has(b"X-C"));
    }
}
