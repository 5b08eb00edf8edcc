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
    /// An administrator has removed the node. Another node writes this record, with the generation of the record that it
    /// replaces.
    Removed,
}

/// Record that each node writes for itself, at least every second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRecord {
    /// Process lifetime that wrote the record.
    pub start: StartId,
    /// Generation of the node. A process that starts, or that was removed, continues with one more than the generation in
    /// the record that it finds. So the process with the larger generation started later.
    pub generation: u64,
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
    /// Returns the record that removes the member which wrote this record.
    #[must_use]
    pub fn removal(&self) -> Self {
        Self {
            counter: 0,
            confirmed: 0,
            state: MemberState::Removed,
            applied: None,
            unsent_for_ms: 0,
            address: String::new(),
            software: String::new(),
            ..*self
        }
    }

    /// Returns true if the removal is newer than this record: the process that wrote it has not noticed the removal, or is
    /// an earlier one.
    pub fn is_ended_by(&self, removal: &Self) -> bool {
        self.generation <= removal.generation
    }

    /// Encodes and authenticates the record of the node `node`. Texts are cut at 255 bytes.
    pub fn encode(&self, secret: &ClusterSecret, node: &NodeName) -> Vec<u8> {
        let mut writer = FieldWriter::default();
        writer.byte(VERSION);
        writer.start(self.start);
        writer.u64(self.generation);
        writer.u64(self.counter);
        writer.u64(self.confirmed);
        writer.byte(match self.state {
            MemberState::Active => 0,
            MemberState::Left => 1,
            MemberState::Removed => 2,
        });
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
        let generation = reader.u64()?;
        let counter = reader.u64()?;
        let confirmed = reader.u64()?;
        let state = match reader.byte()? {
            0 => MemberState::Active,
            1 => MemberState::Left,
            2 => MemberState::Removed,
            _ => return Err(RecordError::Malformed),
        };
        let unsent_for_ms = reader.u32()?;
        let applied = match reader.byte()? {
            0 => None,
            1 => Some(reader.position()?),
            _ => return Err(RecordError::Malformed),
        };
        let (address, software) = (reader.text(MAX_TEXT)?, reader.text(MAX_TEXT)?);
        Ok(Self { start, generation, counter, confirmed, state, applied, unsent_for_ms, address, software })
    }
}
