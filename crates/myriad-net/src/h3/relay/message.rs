//! Messages of the relay of QUIC datagrams between processes. Each read of an inbox returns one message.
//!
//! ```text
//!   read:     version | kind | listener (8)
//!   datagram: version | kind | listener (8) | worker | ECN | destination: family, address (16)
//!             | source: family, address (16), port (2), scope (4) | bytes
//! ```
//!
//! Numbers are big-endian; sizes other than one byte are in parentheses. The family is 4 or 6, or 0 for no address. An
//! IPv4 address is padded with zeros.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};

use bytes::BytesMut;
use quinn_proto::EcnCodepoint;

use crate::h3::worker_inboxes::Datagram;

/// Version of the messages between processes. Those with another version are ignored.
const VERSION: u8 = 1;
const DATAGRAM: u8 = 1;
const READ: u8 = 2;
/// Number of header bytes before the datagram in a message between processes.
const HEAD: usize = 52;
/// Maximum size of a message between processes in bytes: a UDP datagram with its header.
pub(super) const LONGEST: usize = HEAD + 65_535;

/// Message between processes that share QUIC sockets.
#[derive(Debug)]
pub(super) enum RelayMessage {
    /// Datagram of a connection that the receiving process owns.
    Datagram { listener: u64, worker: u8, datagram: Datagram },
    /// The sender has stopped reading the listener's sockets, so the receiver may read them.
    Read { listener: u64 },
}

/// Returns the header of a message that carries `datagram` for a worker of the receiving process.
pub(super) fn datagram_header(listener: u64, worker: u8, datagram: &Datagram) -> Vec<u8> {
    let mut head = Vec::with_capacity(HEAD);
    head.extend_from_slice(&[VERSION, DATAGRAM]);
    head.extend_from_slice(&listener.to_be_bytes());
    head.extend_from_slice(&[worker, datagram.ecn.map_or(0, |ecn| ecn as u8)]);
    put_address(&mut head, datagram.to);
    put_address(&mut head, Some(datagram.from.ip()));
    head.extend_from_slice(&datagram.from.port().to_be_bytes());
    let scope = match datagram.from {
        SocketAddr::V4(_) => 0,
        SocketAddr::V6(from) => from.scope_id(),
    };
    head.extend_from_slice(&scope.to_be_bytes());
    head
}

/// Returns the message that permits its receiver to read a listener's sockets.
pub(super) fn read(listener: u64) -> Vec<u8> {
    let mut message = vec![VERSION, READ];
    message.extend_from_slice(&listener.to_be_bytes());
    message
}

impl RelayMessage {
    /// Parses a message; `None` if it is malformed.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = RelayMessageReader { rest: bytes };
        let ([VERSION], [kind]) = (reader.take()?, reader.take()?) else { return None };
        let listener = u64::from_be_bytes(reader.take()?);
        match kind {
            READ if reader.rest.is_empty() => Some(Self::Read { listener }),
            DATAGRAM => {
                let [worker, ecn] = reader.take()?;
                let to = if reader.has_no_address() { None } else { Some(reader.address()?) };
                let from = reader.address()?;
                let port = u16::from_be_bytes(reader.take()?);
                let scope = u32::from_be_bytes(reader.take()?);
                let from = match from {
                    IpAddr::V6(from) => SocketAddrV6::new(from, port, 0, scope).into(),
                    IpAddr::V4(_) if scope != 0 => return None,
                    IpAddr::V4(_) => SocketAddr::new(from, port),
                };
                let ecn = match ecn {
                    0 => None,
                    bits => Some(EcnCodepoint::from_bits(bits).filter(|ecn| *ecn as u8 == bits)?),
                };
                let datagram = Datagram { bytes: BytesMut::from(reader.rest), from, to, ecn };
                Some(Self::Datagram { listener, worker, datagram })
            }
            _ => None,
        }
    }

    /// Serializes the message.
    fn write(&self) -> Vec<u8> {
        match self {
            Self::Read { listener } => read(*listener),
            Self::Datagram { listener, worker, datagram } => {
                let mut bytes = datagram_header(*listener, *worker, datagram);
                bytes.extend_from_slice(&datagram.bytes);
                bytes
            }
        }
    }
}

/// Returns true if the bytes are malformed, or the message parsed from them serializes to the same bytes. For fuzzing.
pub fn examine(bytes: &[u8]) -> bool {
    RelayMessage::parse(bytes).is_none_or(|message| message.write() == bytes)
}

fn put_address(out: &mut Vec<u8>, address: Option<IpAddr>) {
    let (family, bytes) = match address {
        None => (0, [0; 16]),
        Some(IpAddr::V4(address)) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&address.octets());
            (4, bytes)
        }
        Some(IpAddr::V6(address)) => (6, address.octets()),
    };
    out.push(family);
    out.extend_from_slice(&bytes);
}

struct RelayMessageReader<'a> {
    rest: &'a [u8],
}

impl RelayMessageReader<'_> {
    fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let (taken, rest) = self.rest.split_first_chunk::<COUNT>()?;
        self.rest = rest;
        Some(*taken)
    }

    fn address(&mut self) -> Option<IpAddr> {
        let [family] = self.take()?;
        let bytes: [u8; 16] = self.take()?;
        match (family, bytes) {
            (4, [a, b, c, d, behind @ ..]) if behind == [0; 12] => Some(IpAddr::from([a, b, c, d])),
            (6, bytes) => Some(IpAddr::from(bytes)),
            _ => None,
        }
    }

    /// Returns true and skips the 17 zero bytes if the next address is absent. Returns false and skips nothing if there
    /// is an address.
    fn has_no_address(&mut self) -> bool {
        let rest = self.rest.strip_prefix(&[0; 17]);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(from: &str, to: Option<&str>, ecn: Option<EcnCodepoint>) -> Datagram {
        let to = to.map(|to| to.parse().expect("an address"));
        Datagram { bytes: BytesMut::from(&b"bytes"[..]), from: from.parse().expect("an address"), to, ecn }
    }

    #[test]
    fn what_was_written_is_read_and_a_cut_head_is_refused() {
        for sample in [
            datagram("192.0.2.1:4433", Some("198.51.100.2"), Some(EcnCodepoint::Ce)),
            datagram("[2001:db8::1]:1", None, None),
            datagram("[fe80::1%7]:65535", Some("fe80::2"), Some(EcnCodepoint::Ect0)),
        ] {
            let whole = [&datagram_header(7, 3, &sample)[..], &sample.bytes].concat();
            let Some(RelayMessage::Datagram { listener: 7, worker: 3, datagram }) =
                RelayMessage::parse(&whole)
            else {
                panic!("{sample:?}");
            };
            assert_eq!(format!("{datagram:?}"), format!("{sample:?}"));
            for length in 0..HEAD {
                assert!(RelayMessage::parse(&whole[..length]).is_none(), "{length}");
            }
        }
        assert!(matches!(RelayMessage::parse(&read(9)), Some(RelayMessage::Read { listener: 9 })));
    }

    #[test]
    fn whatever_bytes_there_are_a_message_is_written_as_it_was() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as u8
        };
        let sample = datagram("[fe80::1%7]:65535", Some("192.0.2.1"), Some(EcnCodepoint::Ect1));
        let whole = [&datagram_header(7, 3, &sample)[..], &sample.bytes].concat();
        let mut messages = 0;
        for _ in 0..200_000 {
            let mut bytes = whole.clone();
            for _ in 0..=next() % 3 {
                let at = usize::from(next()) % bytes.len();
                bytes[at] = if next() % 2 == 0 { next() } else { next() % 8 };
            }
            bytes.truncate(usize::from(next()) % 128);
            messages += usize::from(RelayMessage::parse(&bytes).is_some());
            assert!(examine(&bytes), "{bytes:?}");
        }
        assert!(messages > 10_000, "{messages}");
    }
}
