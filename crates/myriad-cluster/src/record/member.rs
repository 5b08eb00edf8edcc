//! Records of the members of a cluster.

use super::fields::{FieldReader, FieldWriter};
use super::{ClusterSecret, LogPosition, NodeName, RecordContext, RecordError, StartId};

const VERSION: u8 = 1;
const MAX_TEXT: usize = 255;

/// State that a member reports of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// The node takes part in the cluster.
    Active,
    /// The node was stopped, and all its purges are in the log.
    Left,
}

/// Record that each node writes every second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRecord {
    /// Process lifetime that wrote the record.
    pub start: StartId,
    /// Number of records that this lifetime wrote. Readers compare it only with its earlier values, so that clocks of
    /// different machines need not agree.
    pub counter: u64,
    /// Counter of the newest record whose write Valkey had confirmed when this record was made. It is a lower bound for the
    /// time at which this record was made.
    pub confirmed: u64,
    /// State of the node.
    pub state: MemberState,
    /// Position up to which all purges are applied and durable; `None` before the node has joined.
    pub applied: Option<LogPosition>,
    /// Milliseconds for which the oldest purge that is not yet in the log has been waiting; `u32::MAX` if unknown.
    pub unsent_for_ms: u32,
    /// Address of the node, for display.
    pub address: String,
    /// Version of the node's software, for display.
    pub software: String,
}

impl MemberRecord {
    /// Encodes and authenticates the record of the node `node`. Texts are cut at 255 bytes.
    pub fn encode(&self, secret: &ClusterSecret, node: &NodeName) -> Vec<u8> {
        let mut writer = FieldWriter::default();
        writer.byte(VERSION);
        writer.start(self.start);
        writer.u64(self.counter);
        writer.u64(self.confirmed);
        writer.byte(u8::from(self.state == MemberState::Left));
        writer.u32(self.unsent_for_ms);
        writer.byte(u8::from(self.applied.is_some()));
        if let Some(applied) = self.applied {
            writer.position(applied);
        }
        for text in [&self.address, &self.software] {
            writer.bytes(&text.as_bytes()[..text.floor_char_boundary(MAX_TEXT)]);
        }
        let mut bytes = writer.into_bytes();
        secret.seal(RecordContext::Member(node), &mut bytes);
        bytes
    }

    /// Decodes the record of the node `node`. Fields that newer versions append are ignored.
    pub fn decode(secret: &ClusterSecret, node: &NodeName, bytes: &[u8]) -> Result<Self, RecordError> {
        let (body, _) = secret.open(RecordContext::Member(node), bytes)?;
        let mut reader = FieldReader::new(body);
        if reader.byte()? == 0 {
            return Err(RecordError::Malformed);
        }
        let start = reader.start()?;
        let counter = reader.u64()?;
        let confirmed = reader.u64()?;
        let state = match reader.byte()? {
            0 => MemberState::Active,
            1 => MemberState::Left,
            _ => return Err(RecordError::Malformed),
        };
        let unsent_for_ms = reader.u32()?;
        let applied = match reader.byte()? {
            0 => None,
            1 => Some(reader.position()?),
            _ => return Err(RecordError::Malformed),
        };
        let (address, software) = (reader.text(MAX_TEXT)?, reader.text(MAX_TEXT)?);
        Ok(Self { start, counter, confirmed, state, applied, unsent_for_ms, address, software })
    }
}
