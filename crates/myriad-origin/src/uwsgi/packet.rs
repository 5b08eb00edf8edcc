//! The head of a uwsgi request: four bytes, then names and values, each with its length ahead of it.

use super::settings::Modifiers;
use crate::cgi::Pairs;

/// Bytes of the packet's own head: the first modifier, the size of what follows, the second modifier.
const HEAD: usize = 4;

/// The pairs, as they are gathered.
pub(super) struct Packet(Vec<u8>);

impl Packet {
    /// An empty packet.
    pub(super) fn new(modifiers: Modifiers) -> Self {
        let mut packet = Vec::with_capacity(2048);
        packet.extend_from_slice(&[modifiers.first, 0, 0, modifiers.second]);
        Self(packet)
    }

    /// The packet with its size; an error where that is more than its two bytes can say.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, String> {
        let size = self.0.len() - HEAD;
        match u16::try_from(size) {
            Ok(size) => {
                self.0[1..3].copy_from_slice(&size.to_le_bytes());
                Ok(self.0)
            }
            Err(_) => Err(format!("the uwsgi request is too large: {size} bytes of at most 65535")),
        }
    }
}

impl Pairs for Packet {
    fn push(&mut self, name: &[u8], value: &[u8]) {
        for text in [name, value] {
            // What is longer makes the packet too large, which its end tells.
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
    fn what_two_bytes_cannot_say_is_no_packet() {
        let mut packet = Packet::new(Modifiers::default());
        packet.push(b"A", &vec![b'x'; 65530]);
        assert_eq!(packet.finish().unwrap().len(), 65539);
        let mut packet = Packet::new(Modifiers::default());
        packet.push(b"A", &vec![b'x'; 65531]);
        assert!(packet.finish().is_err());
    }
}
