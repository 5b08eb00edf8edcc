//! Head of a uwsgi request: four bytes, then names and values, each preceded by its length in two bytes.

use super::settings::Modifiers;
use crate::cgi::Pairs;

/// Size of the uwsgi packet header in bytes: modifier 1, the size of the data in two bytes, modifier 2.
const HEAD: usize = 4;

/// uwsgi packet in progress: the header, then the encoded pairs.
pub(super) struct Packet(Vec<u8>);

impl Packet {
    /// Creates a packet without name-value pairs.
    pub(super) fn new(modifiers: Modifiers) -> Self {
        let mut packet = Vec::with_capacity(2048);
        packet.extend_from_slice(&[modifiers.first, 0, 0, modifiers.second]);
        Self(packet)
    }

    /// Returns the packet with its size in the header. Fails if the pairs have more than 65,535 bytes.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, String> {
        let size = self.0.len() - HEAD;
        match u16::try_from(size) {
            Ok(size) => {
                self.0[1..3].copy_from_slice(&size.to_le_bytes());
                Ok(self.0)
            }
            Err(_) => Err(format!("the uwsgi request is too large: {size} bytes, maximum 65535")),
        }
    }
}

impl Pairs for Packet {
    fn push(&mut self, name: &[u8], value: &[u8]) {
        for text in [name, value] {
            // A text that is too long makes the packet too large, which `finish` reports.
            self.0.extend_from_slice(&(text.len() as u16).to_le_bytes());
            self.0.extend_from_slice(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_little_endian_and_modifiers_stand_around_them() {
        let mut packet = Packet::new(Modifiers { first: 5, second: 7 });
        packet.push(b"A", b"bc");
        packet.push(b"EMPTY", b"");
        assert_eq!(packet.finish().unwrap(), b"\x05\x10\0\x07\x01\0A\x02\0bc\x05\0EMPTY\0\0");
        let mut packet = Packet::new(Modifiers::default());
        packet.push(b"A", &[b'x'; 300]);
        assert_eq!(packet.finish().unwrap()[..4], [0, 0x31, 1, 0]);
    }

    #[test]
    fn oversized_packet_or_value_is_rejected() {
        let mut packet = Packet::new(Modifiers::default());
        packet.push(b"A", &vec![b'x'; 65530]);
        assert_eq!(packet.finish().unwrap().len(), 65539);
        let mut packet = Packet::new(Modifiers::default());
        packet.push(b"A", &vec![b'x'; 65531]);
        assert!(packet.finish().is_err());
    }
}
