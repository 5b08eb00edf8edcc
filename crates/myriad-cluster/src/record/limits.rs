//! Messages about the use of limits, which nodes publish and do not store.
//!
//! ```text
//! version (1) | start (16) | encrypted: sender, sequence, acknowledgements, zones with keys and numbers
//! ```
//!
//! Keys of limits, such as addresses of clients, are not readable in Valkey. Each process lifetime of a node has a key for
//! its messages in each database: channels do not belong to a database, so a message could be moved to that of another.

use super::fields::{FieldReader, FieldWriter, check_version};
use super::{ClusterSecret, NodeName, RecordError, StartId};

const VERSION: u8 = 1;
/// Length of the fields that are not encrypted.
const HEADER: usize = 1 + 16;
/// Maximum number of bytes by which the encryption makes the contents longer.
const ENCRYPTION: usize = 32;

/// Maximum length of a message, in bytes.
pub const MAX_LIMIT_BYTES: usize = 128 * 1024;
/// Maximum length of a key in a message, in bytes. Longer keys are counted by each node for itself.
pub const MAX_LIMIT_KEY: usize = 255;
/// Maximum number of acknowledgements in a message.
pub const MAX_ACKNOWLEDGEMENTS: usize = 1024;
/// Maximum number of zones in a message.
pub const MAX_LIMIT_ZONES: usize = 1024;

/// Identity of a limit zone: equal on two nodes whose zones count the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LimitZoneId(pub [u8; 16]);

/// Newest message that the sender has received from another process lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Process lifetime of the other node.
    pub start: StartId,
    /// Number of its newest message.
    pub sequence: u64,
}

/// Keys of a zone, each with its number: of requests since the last message, or of current connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneUsage {
    /// The zone.
    pub zone: LimitZoneId,
    /// Keys, each with the number of its requests since the last message, or of its current connections. For connections,
    /// 0 means that all are closed.
    pub keys: Vec<(Box<[u8]>, u32)>,
}

/// Message of a node about the use of limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRecord {
    /// Sender.
    pub node: NodeName,
    /// Process lifetime of the sender.
    pub start: StartId,
    /// Number of the message in that lifetime, from 1.
    pub sequence: u64,
    /// Newest messages that the sender has received.
    pub acknowledged: Vec<Acknowledgement>,
    /// Use of limits; the keys of a zone may be in several items.
    pub zones: Vec<ZoneUsage>,
}

impl LimitRecord {
    /// Returns the maximum number of bytes of a message with this number of acknowledgements and no zones.
    pub(crate) fn base_len(node: &NodeName, acknowledgements: usize) -> usize {
        HEADER + 4 + node.as_str().len() + 8 + 4 + 24 * acknowledgements + 4 + ENCRYPTION
    }

    /// Returns the number of bytes that a zone without keys takes.
    pub(crate) const fn zone_len() -> usize {
        16 + 4
    }

    /// Returns the number of bytes that a key takes.
    pub(crate) fn key_len(key: &[u8]) -> usize {
        4 + key.len() + 4
    }

    /// Encodes and encrypts the message for the nodes that use this database. `None` if the operating system has no random
    /// numbers.
    pub fn encode(&self, secret: &ClusterSecret, database: u32) -> Option<Vec<u8>> {
        let mut writer = FieldWriter::default();
        writer.name(&self.node);
        writer.u64(self.sequence);
        writer.u32(self.acknowledged.len() as u32);
        for acknowledgement in &self.acknowledged {
            writer.start(acknowledgement.start);
            writer.u64(acknowledgement.sequence);
        }
        writer.u32(self.zones.len() as u32);
        for ZoneUsage { zone, keys } in &self.zones {
            writer.start(StartId(zone.0));
            writer.u32(keys.len() as u32);
            for (key, number) in keys {
                writer.bytes(key);
                writer.u32(*number);
            }
        }
        Self::encrypt_contents(secret, database, self.start, writer.into_bytes())
    }

    /// Decrypts and decodes a message of a node that uses this database.
    ///
    /// # Errors
    /// Returns an error if the message is longer than [`MAX_LIMIT_BYTES`], or not authentic, or its format is invalid or
    /// unknown.
    pub fn decode(secret: &ClusterSecret, database: u32, bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > MAX_LIMIT_BYTES {
            return Err(RecordError::Malformed);
        }
        let (header, encrypted) = bytes.split_at_checked(HEADER).ok_or(RecordError::NotAuthentic)?;
        let mut reader = FieldReader::new(header);
        let (version, start) = (reader.byte()?, reader.start()?);
        let contents = secret.decrypt(&name(version, database, start), encrypted)?;
        check_version(version, VERSION)?;
        let mut reader = FieldReader::new(&contents);
        let (node, sequence) = (reader.name()?, reader.u64()?);
        let acknowledged = reader.items(MAX_ACKNOWLEDGEMENTS, |reader| {
            Ok(Acknowledgement { start: reader.start()?, sequence: reader.u64()? })
        })?;
        let zones = reader.items(MAX_LIMIT_ZONES, |reader| {
            let zone = LimitZoneId(reader.start()?.0);
            let keys = reader
                .items(MAX_LIMIT_BYTES, |reader| Ok((reader.bytes(MAX_LIMIT_KEY)?.into(), reader.u32()?)))?;
            Ok(ZoneUsage { zone, keys })
        })?;
        reader.finish()?;
        Ok(Self { node, start, sequence, acknowledged, zones })
    }

    /// Encrypts the contents of a message, and returns the message.
    pub(super) fn encrypt_contents(
        secret: &ClusterSecret,
        database: u32,
        start: StartId,
        contents: Vec<u8>,
    ) -> Option<Vec<u8>> {
        let encrypted = secret.encrypt(&name(VERSION, database, start), contents.into())?;
        Some([&[VERSION][..], &start.0, &encrypted].concat())
    }
}

/// Returns the name of the messages of a process lifetime in a database, from which their key is derived.
fn name(version: u8, database: u32, start: StartId) -> String {
    format!("limits:{version}:{database}:{:032x}", u128::from_be_bytes(start.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(cluster: &str, byte: u8) -> ClusterSecret {
        ClusterSecret::new(&NodeName::new(cluster).unwrap(), &[byte; 32]).unwrap()
    }

    fn record() -> LimitRecord {
        LimitRecord {
            node: NodeName::new("web1").unwrap(),
            start: StartId([1; 16]),
            sequence: 7,
            acknowledged: vec![Acknowledgement { start: StartId([2; 16]), sequence: 9 }],
            zones: vec![ZoneUsage {
                zone: LimitZoneId([3; 16]),
                keys: vec![((*b"client 192.0.2.1").into(), 5), ([0; MAX_LIMIT_KEY].into(), u32::MAX)],
            }],
        }
    }

    #[test]
    fn message_is_read_only_with_the_secret_and_as_it_was_written() {
        let ours = secret("shop", 7);
        let bytes = record().encode(&ours, 0).unwrap();
        assert_eq!(LimitRecord::decode(&ours, 0, &bytes), Ok(record()));
        assert_eq!(LimitRecord::decode(&ours, 1, &bytes), Err(RecordError::NotAuthentic));
        assert!(!bytes.windows(9).any(|window| window == b"192.0.2.1"), "keys are encrypted");
        for other in [secret("shop", 8), secret("blog", 7)] {
            assert_eq!(LimitRecord::decode(&other, 0, &bytes), Err(RecordError::NotAuthentic));
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(LimitRecord::decode(&ours, 0, &changed), Err(RecordError::NotAuthentic), "byte {at}");
            assert_eq!(LimitRecord::decode(&ours, 0, &bytes[..at]), Err(RecordError::NotAuthentic));
        }
    }

    #[test]
    fn length_is_known_before_the_message_is_encoded() {
        let record = record();
        let keys = &record.zones[0].keys;
        let length = LimitRecord::base_len(&record.node, 1)
            + LimitRecord::zone_len()
            + keys.iter().map(|(key, _)| LimitRecord::key_len(key)).sum::<usize>();
        let encoded = record.encode(&secret("shop", 7), 0).unwrap().len();
        assert!((length - 10..=length).contains(&encoded), "{encoded} of {length}");
    }

    #[test]
    fn long_keys_and_long_messages_are_refused() {
        let ours = secret("shop", 7);
        let mut long = record();
        long.zones[0].keys.push((vec![0; MAX_LIMIT_KEY + 1].into(), 1));
        assert_eq!(
            LimitRecord::decode(&ours, 0, &long.encode(&ours, 0).unwrap()),
            Err(RecordError::Malformed)
        );
        long.zones[0].keys = vec![((*b"key").into(), 1); MAX_LIMIT_BYTES / 11];
        assert_eq!(
            LimitRecord::decode(&ours, 0, &long.encode(&ours, 0).unwrap()),
            Err(RecordError::Malformed)
        );
    }
}
