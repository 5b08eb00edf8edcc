//! Pages that nodes store in Valkey for each other.

use super::fields::{FieldReader, FieldWriter};
use super::{ClusterSecret, LogPosition, RecordContext, RecordError};

const VERSION: u8 = 1;

/// Maximum length of the encoded metadata of a page, in bytes.
const MAX_META: usize = 256 * 1024;

/// Page in Valkey. Times are those of the process that wrote the record, in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRecord<'a> {
    /// Position in the log of purges when the fetch of the page began.
    pub position: LogPosition,
    /// Time at which the record was written.
    pub written_at: u64,
    /// Time at which the page was stored.
    pub stored_at: u64,
    /// Lifetime of the record in Valkey, counted from `written_at`.
    pub lifetime_ms: u64,
    /// Format of `meta`. A reader with another format ignores the record.
    pub format: u16,
    /// Metadata of the page, in the format of the cache, which this crate does not interpret.
    pub meta: &'a [u8],
    /// Number of bytes of the page's body.
    pub body_len: u64,
    /// True if `body` is compressed.
    pub is_compressed: bool,
    /// Body of the page.
    pub body: &'a [u8],
}

impl<'a> PageRecord<'a> {
    /// Returns the name of a page in Valkey: 32 hexadecimal digits, which do not reveal the key.
    pub fn name(secret: &ClusterSecret, zone: &str, key: &[u8]) -> String {
        let tag = secret.tag(RecordContext::Page { zone, key }, b"name");
        tag.0[..16].iter().fold(String::with_capacity(32), |name, byte| name + &format!("{byte:02x}"))
    }

    /// Encodes and authenticates the record of the page with this key in this zone.
    pub fn encode(&self, secret: &ClusterSecret, zone: &str, key: &[u8]) -> Vec<u8> {
        let mut writer = FieldWriter::with_capacity(self.meta.len() + self.body.len() + 160);
        writer.byte(VERSION);
        writer.position(self.position);
        writer.u64(self.written_at);
        writer.u64(self.stored_at);
        writer.u64(self.lifetime_ms);
        writer.u32(u32::from(self.format));
        writer.bytes(self.meta);
        writer.u64(self.body_len);
        writer.byte(u8::from(self.is_compressed));
        writer.bytes(self.body);
        let mut bytes = writer.into_bytes();
        secret.seal(RecordContext::Page { zone, key }, &mut bytes);
        bytes
    }

    /// Decodes the record of the page with this key in this zone.
    pub fn decode(
        secret: &ClusterSecret,
        zone: &str,
        key: &[u8],
        bytes: &'a [u8],
    ) -> Result<Self, RecordError> {
        let (body, _) = secret.open(RecordContext::Page { zone, key }, bytes)?;
        let mut reader = FieldReader::new(body);
        reader.version(VERSION)?;
        let record = Self {
            position: reader.position()?,
            written_at: reader.u64()?,
            stored_at: reader.u64()?,
            lifetime_ms: reader.u64()?,
            format: u16::try_from(reader.u32()?).map_err(|_| RecordError::Malformed)?,
            meta: reader.bytes(MAX_META)?,
            body_len: reader.u64()?,
            is_compressed: match reader.byte()? {
                0 => false,
                1 => true,
                _ => return Err(RecordError::Malformed),
            },
            body: reader.bytes(usize::MAX)?,
        };
        reader.finish()?;
        Ok(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{EntryId, NodeName, RecordTag};

    #[test]
    fn page_is_bound_to_its_zone_and_key() {
        let secret = ClusterSecret::new(&NodeName::new("shop").unwrap(), &[7; 32]).unwrap();
        let position = LogPosition { id: EntryId { epoch: 1, number: 2 }, tag: RecordTag([3; 32]) };
        let record = PageRecord {
            position,
            written_at: 4,
            stored_at: 5,
            lifetime_ms: 6,
            format: 7,
            meta: b"meta",
            body_len: 8,
            is_compressed: true,
            body: b"body",
        };
        let bytes = record.encode(&secret, "pages", b"key");
        assert_eq!(PageRecord::decode(&secret, "pages", b"key", &bytes), Ok(record));
        for (zone, key) in [("page", &b"skey"[..]), ("pages", b"key2"), ("other", b"key"), ("pages", b"")] {
            assert_eq!(PageRecord::decode(&secret, zone, key, &bytes), Err(RecordError::NotAuthentic));
        }
        for end in 0..bytes.len() {
            assert!(PageRecord::decode(&secret, "pages", b"key", &bytes[..end]).is_err(), "{end} bytes");
        }
    }
}
