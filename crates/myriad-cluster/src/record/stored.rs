//! File with a node's position, and the purges that it has not delivered yet.

use super::fields::{FieldReader, FieldWriter};
use super::purges::{read_purge, write_purge};
use super::{ClusterPurge, ClusterSecret, LogPosition, NodeName, RecordContext, RecordError, StartId};

const VERSION: u8 = 1;
const MAX_RECORDS: usize = 4096;
const MAX_PENDING: usize = 100_000;

/// Record in the stored part of a node's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// Position of the record.
    pub position: LogPosition,
    /// Position of its predecessor.
    pub predecessor: LogPosition,
}

/// State of a node that its next start reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredNode {
    /// Boot of the machine on which `fresh_at` was measured.
    pub boot: [u8; 16],
    /// Time up to which the node had applied every purge of every member, in milliseconds of the clock of `boot`.
    pub fresh_at: Option<u64>,
    /// Position up to which all purges are applied and durable; `None` if the node had not joined.
    pub applied: Option<LogPosition>,
    /// Newest records of the history up to `applied`, oldest first.
    pub records: Vec<StoredRecord>,
    /// Largest generation in the node's member records; 0 if the node had not joined. A restored backup of Valkey may have
    /// a record of a smaller one.
    pub generation: u64,
    /// True if an own purge was removed from `pending` before every member had confirmed it.
    pub has_excess: bool,
    /// Own purges that not all members have confirmed.
    pub pending: Vec<ClusterPurge>,
}

impl StoredNode {
    /// Encodes and authenticates the file of the node `node`.
    pub fn encode(&self, secret: &ClusterSecret, node: &NodeName) -> Vec<u8> {
        let mut writer = FieldWriter::default();
        writer.byte(VERSION);
        writer.start(StartId(self.boot));
        writer.byte(u8::from(self.fresh_at.is_some()));
        writer.u64(self.fresh_at.unwrap_or(0));
        writer.byte(u8::from(self.applied.is_some()));
        writer.position(self.applied.unwrap_or(LogPosition::START));
        writer.u32(self.records.len() as u32);
        for record in &self.records {
            writer.position(record.position);
            writer.position(record.predecessor);
        }
        writer.u64(self.generation);
        writer.byte(u8::from(self.has_excess));
        writer.u32(self.pending.len() as u32);
        for purge in &self.pending {
            write_purge(&mut writer, purge);
        }
        let mut bytes = writer.into_bytes();
        secret.seal(RecordContext::Stored(node), &mut bytes);
        bytes
    }

    /// Decodes the file of the node `node`.
    pub fn decode(secret: &ClusterSecret, node: &NodeName, bytes: &[u8]) -> Result<Self, RecordError> {
        let (body, _) = secret.open(RecordContext::Stored(node), bytes)?;
        let mut reader = FieldReader::new(body);
        reader.version(VERSION)?;
        let boot = reader.start()?.0;
        let has_fresh = reader.byte()? == 1;
        let fresh_at = reader.u64()?;
        let has_applied = reader.byte()? == 1;
        let applied = reader.position()?;
        let records = reader.items(MAX_RECORDS, |reader| {
            Ok(StoredRecord { position: reader.position()?, predecessor: reader.position()? })
        })?;
        let generation = reader.u64()?;
        let has_excess = reader.byte()? == 1;
        let pending = reader.items(MAX_PENDING, read_purge)?;
        reader.finish()?;
        Ok(Self {
            boot,
            fresh_at: has_fresh.then_some(fresh_at),
            applied: has_applied.then_some(applied),
            records,
            generation,
            has_excess,
            pending,
        })
    }
}
