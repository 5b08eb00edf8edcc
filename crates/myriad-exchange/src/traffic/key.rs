//! Keys of traffic counts (`vhost_traffic_status`).

/// Kind of a key, which determines the meaning of its zone and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrafficKind {
    /// Virtual server or host; has no zone.
    Server,
    /// `vhost_traffic_status_filter_by_set_key`: the zone is the group, the name is the evaluated key.
    Filter,
    /// Peer of an `upstream` block; the zone is the name of the block.
    Peer,
    /// Origin that belongs to no `upstream`.
    Origin,
    /// Cache zone, which is the name; the key has no zone.
    Cache,
}

const KINDS: [TrafficKind; 5] =
    [TrafficKind::Server, TrafficKind::Filter, TrafficKind::Peer, TrafficKind::Origin, TrafficKind::Cache];

/// Key as one byte string: the kind, the length of the zone (four bytes), the zone, the name. The encoding is
/// unambiguous even if clients determine zone and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrafficKey(Box<[u8]>);

impl TrafficKey {
    /// Replaces the contents of `out` by an encoded key. The buffer can be reused.
    pub fn write(out: &mut Vec<u8>, kind: TrafficKind, zone: &[u8], name: &[u8]) {
        out.clear();
        out.push(kind as u8);
        out.extend_from_slice(&(zone.len() as u32).to_le_bytes());
        out.extend_from_slice(zone);
        out.extend_from_slice(name);
    }

    /// Creates a key from bytes written by [`Self::write`].
    pub(super) fn of(written: &[u8]) -> Self {
        Self(written.into())
    }

    /// Returns the encoded key.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the kind of the key.
    pub fn kind(&self) -> TrafficKind {
        KINDS[usize::from(self.0[0])]
    }

    /// Returns the zone: the filter group or `upstream`; empty if the kind has none.
    pub fn zone(&self) -> &[u8] {
        &self.0[5..5 + self.zone_length()]
    }

    /// Returns the name in the key, such as the name of a server or the address of a peer.
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
    fn traffic_key_round_trips_its_parts() {
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
