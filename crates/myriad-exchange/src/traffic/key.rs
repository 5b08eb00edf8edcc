//! What is counted.

/// What a key stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficKind {
    /// A server, or a host.
    Server,
    /// A name within a group that the configuration makes of requests.
    Filter,
    /// A peer of an `upstream`, the zone.
    Peer,
    /// An origin that no `upstream` names.
    Origin,
    /// A cache zone.
    Cache,
}

const KINDS: [TrafficKind; 5] =
    [TrafficKind::Server, TrafficKind::Filter, TrafficKind::Peer, TrafficKind::Origin, TrafficKind::Cache];

/// A key in one piece: the kind, the length of the zone in four bytes, the zone, the name. No byte of a zone or a name, which
/// visitors may have chosen, can make it another key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrafficKey(Box<[u8]>);

impl TrafficKey {
    /// Writes a key into memory that can be used again.
    pub fn write(out: &mut Vec<u8>, kind: TrafficKind, zone: &[u8], name: &[u8]) {
        out.clear();
        out.push(kind as u8);
        out.extend_from_slice(&(zone.len() as u32).to_le_bytes());
        out.extend_from_slice(zone);
        out.extend_from_slice(name);
    }

    /// The key that [`Self::write`] wrote.
    pub(super) fn of(written: &[u8]) -> Self {
        Self(written.into())
    }

    /// The key as it was written.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What it stands for.
    pub fn kind(&self) -> TrafficKind {
        KINDS[usize::from(self.0[0])]
    }

    /// The group, the `upstream`; empty where the kind has none.
    pub fn zone(&self) -> &[u8] {
        &self.0[5..5 + self.zone_length()]
    }

    /// The name within.
    pub fn name(&self) -> &[u8] {
        &self.0[5 + self.zone_length()..]
    }

    fn zone_length(&self) -> usize {
        u32::from_le_bytes(self.0[1..5].try_into().expect("four bytes were written")) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_says_what_it_was_made_of() {
        let mut written = b"before".to_vec();
        for kind in KINDS {
            TrafficKey::write(&mut written, kind, b"zone\0", b"na\0me");
            let key = TrafficKey::of(&written);
            assert_eq!((key.kind(), key.zone(), key.name()), (kind, &b"zone\0"[..], &b"na\0me"[..]));
        }
        let mut other = Vec::new();
        TrafficKey::write(&mut other, TrafficKind::Cache, b"zone", b"\0na\0me");
        assert_ne!(written, other);
    }
}
