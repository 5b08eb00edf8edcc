//! Records of the log of purges.

use std::sync::Arc;

use super::fields::{FieldReader, FieldWriter};
use super::{ClusterSecret, EntryId, LogPosition, NodeName, PurgeId, RecordContext, RecordError, RecordTag};

/// Version of the contents that this binary writes.
///
/// Contents of every later version begin with a list of purges in the format of version 1, which cover at least the same
/// pages as the whole record. An earlier binary executes this list and ignores what follows, so that its other pages stay
/// during a rolling upgrade. The list is empty if no page is affected. A purge that an earlier binary cannot decode
/// makes all pages of its zone stale.
const VERSION: u8 = 1;

/// Maximum length of a purge's body, in bytes. A longer purge is replaced by one of all pages of its zone.
pub const MAX_PURGE_BYTES: usize = 256 * 1024;

/// Length of a record above which no further purge is added to it, in bytes.
pub const MAX_RECORD_BYTES: usize = 64 * 1024;

/// Maximum number of purges in a record.
pub const MAX_RECORD_PURGES: usize = 512;

/// Maximum length of a zone's name, in bytes.
const MAX_ZONE: usize = 255;

/// One purge in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPurge {
    /// Identity of the purge.
    pub id: PurgeId,
    /// Node on which the purge was requested; receipts are sent to it.
    pub origin: NodeName,
    /// Zone; an empty name means that all pages of all zones become stale.
    pub zone: String,
    /// The purge, in the format of the cache, which this crate does not interpret; empty for all pages of the zone.
    pub body: Arc<[u8]>,
}

impl ClusterPurge {
    /// Returns true if all pages of all zones become stale.
    pub fn is_everything(&self) -> bool {
        self.zone.is_empty()
    }

    /// Returns the length of the purge in a record, in bytes.
    pub fn encoded_len(&self) -> usize {
        24 + 12 + self.origin.as_str().len() + self.zone.len() + self.body.len()
    }
}

/// Contents of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordContents {
    /// Purges in the order in which they are applied. The first record of a log or epoch may have none.
    Purges(Vec<ClusterPurge>),
    /// Contents of a newer version without the list with which they must begin. The reader treats all stored pages as
    /// stale.
    Newer,
}

/// Record of the log of purges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// ID of the entry. A record under another ID is refused, so that an entry cannot be copied.
    pub id: EntryId,
    /// Position up to which the writer had read the log.
    pub predecessor: LogPosition,
    /// Node that appended the record.
    pub writer: NodeName,
    /// Purges.
    pub contents: RecordContents,
}

impl LogRecord {
    /// Encodes and authenticates the record. `RecordContents::Newer` is encoded as contents of the next version without a
    /// list of purges, for tests.
    pub fn encode(&self, secret: &ClusterSecret) -> (Vec<u8>, RecordTag) {
        let mut writer = FieldWriter::default();
        // All versions have these fields, so that an older reader can follow the chain.
        writer.u64(self.id.epoch);
        writer.u64(self.id.number);
        writer.position(self.predecessor);
        writer.name(&self.writer);
        match &self.contents {
            RecordContents::Newer => writer.byte(VERSION + 1),
            RecordContents::Purges(purges) => {
                writer.byte(VERSION);
                writer.u32(purges.len() as u32);
                for purge in purges {
                    write_purge(&mut writer, purge);
                }
            }
        }
        let mut bytes = writer.into_bytes();
        let tag = secret.seal(RecordContext::Log, &mut bytes);
        (bytes, tag)
    }

    /// Decodes the entry with the ID `id`; also returns the record's tag.
    pub fn decode(
        secret: &ClusterSecret,
        id: EntryId,
        bytes: &[u8],
    ) -> Result<(Self, RecordTag), RecordError> {
        let (body, tag) = secret.open(RecordContext::Log, bytes)?;
        let mut reader = FieldReader::new(body);
        let written_id = EntryId { epoch: reader.u64()?, number: reader.u64()? };
        if written_id != id {
            return Err(RecordError::NotAuthentic);
        }
        let predecessor = reader.position()?;
        if predecessor.id >= id {
            return Err(RecordError::Malformed);
        }
        let writer = reader.name()?;
        let contents = match reader.byte()? {
            VERSION => {
                let purges = reader.items(MAX_RECORD_PURGES, read_purge)?;
                reader.finish()?;
                RecordContents::Purges(purges)
            }
            0 => return Err(RecordError::Malformed),
            _ => reader
                .items(MAX_RECORD_PURGES, read_purge)
                .map_or(RecordContents::Newer, RecordContents::Purges),
        };
        Ok((Self { id, predecessor, writer, contents }, tag))
    }
}

pub(super) fn write_purge(writer: &mut FieldWriter, purge: &ClusterPurge) {
    writer.purge_id(purge.id);
    writer.name(&purge.origin);
    writer.bytes(purge.zone.as_bytes());
    writer.bytes(&purge.body);
}

pub(super) fn read_purge(reader: &mut FieldReader<'_>) -> Result<ClusterPurge, RecordError> {
    Ok(ClusterPurge {
        id: reader.purge_id()?,
        origin: reader.name()?,
        zone: reader.text(MAX_ZONE)?,
        body: reader.bytes(MAX_PURGE_BYTES)?.into(),
    })
}
