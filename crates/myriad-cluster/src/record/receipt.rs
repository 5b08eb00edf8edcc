//! Receipts for purges.

use super::fields::{FieldReader, FieldWriter};
use super::{ClusterSecret, NodeName, PurgeId, RecordContext, RecordError};

const VERSION: u8 = 1;
/// Maximum number of purges in a receipt.
const MAX_PURGES: usize = 4096;

/// Receipt: a node has applied purges of another node, durably.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptRecord {
    /// Node that applied the purges.
    pub node: NodeName,
    /// The purges.
    pub purges: Vec<PurgeId>,
}

impl ReceiptRecord {
    /// Encodes and authenticates the receipt for purges of the node `origin`.
    pub fn encode(&self, secret: &ClusterSecret, origin: &NodeName) -> Vec<u8> {
        let mut writer = FieldWriter::default();
        writer.byte(VERSION);
        writer.name(&self.node);
        writer.u32(self.purges.len() as u32);
        for &purge in &self.purges {
            writer.purge_id(purge);
        }
        let mut bytes = writer.into_bytes();
        secret.seal(RecordContext::Receipts(origin), &mut bytes);
        bytes
    }

    /// Decodes a receipt for purges of the node `origin`. What newer versions append is ignored.
    pub fn decode(secret: &ClusterSecret, origin: &NodeName, bytes: &[u8]) -> Result<Self, RecordError> {
        let (body, _) = secret.open(RecordContext::Receipts(origin), bytes)?;
        let mut reader = FieldReader::new(body);
        let version = reader.byte()?;
        if version == 0 {
            return Err(RecordError::Malformed);
        }
        let node = reader.name()?;
        let purges = reader.items(MAX_PURGES, FieldReader::purge_id)?;
        if version == VERSION {
            reader.finish()?;
        }
        Ok(Self { node, purges })
    }
}
