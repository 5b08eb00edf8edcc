//! Header fields that are listed in `Connection`: they apply to this hop only (RFC 9110 section 7.6.1).

use std::cmp::Ordering;

use myriad_http::{Fields, Known};

/// Field names listed in a message's `Connection` fields, sorted for fast search: a client may list thousands.
pub struct ConnectionListedFields<'a>(Vec<&'a [u8]>);

impl<'a> ConnectionListedFields<'a> {
    /// Collects the names listed in a message's `Connection` fields, without common options such as `keep-alive`.
    pub fn of(fields: &'a Fields) -> Self {
        if fields.known(Known::Connection).is_none_or(is_usual) && !fields.is_repeated(Known::Connection) {
            return Self(Vec::new());
        }
        let options = fields.known_all(Known::Connection).flat_map(|value| value.split(|byte| *byte == b','));
        let mut names: Vec<_> = options.map(<[u8]>::trim_ascii).filter(|name| !is_usual(name)).collect();
        names.sort_unstable_by(|left, right| compare(left, right));
        Self(names)
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the list contains a field name, compared case-insensitively.
    pub fn has(&self, name: &[u8]) -> bool {
        self.0.binary_search_by(|known| compare(known, name)).is_ok()
    }
}

/// Returns whether a `Connection` option is common and is not the name of a field that would be forwarded.
fn is_usual(option: &[u8]) -> bool {
    [&b""[..], b"close", b"keep-alive", b"upgrade"].iter().any(|usual| option.eq_ignore_ascii_case(usual))
}

/// Compares names case-insensitively (RFC 9110 section 5.1).
fn compare(left: &[u8], right: &[u8]) -> Ordering {
    left.iter().map(u8::to_ascii_lowercase).cmp(right.iter().map(u8::to_ascii_lowercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_field_counts() {
        let mut fields = Fields::new();
        assert!(!ConnectionListedFields::of(&fields).has(b"X-A"));
        fields.push(b"Connection", b"keep-alive");
        assert!(!ConnectionListedFields::of(&fields).has(b"Keep-Alive"));
        fields.push(b"connection", b"X-A , x-b");
        let nominated = ConnectionListedFields::of(&fields);
        assert!(nominated.has(b"x-a") && nominated.has(b"X-B") && !nominated.has(b"X-C"));
        fields.push(b"Connection", b"x-c,,Close,a,b,X-,z,m");
        let nominated = ConnectionListedFields::of(&fields);
        assert!([&b"X-A"[..], b"X-B", b"x-C", b"A", b"x-", b"Z"].iter().all(|name| nominated.has(name)));
        assert!([&b""[..], b"X", b"x-d", b"n"].iter().all(|name| !nominated.has(name)));
    }
}
