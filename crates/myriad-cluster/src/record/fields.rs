//! Fields of records: numbers of fixed size in little-endian order, and byte strings with their length.

use super::{EntryId, LogPosition, NodeName, PurgeId, RecordError, RecordTag, StartId};

/// Record that is being written.
#[derive(Default)]
pub(super) struct FieldWriter {
    bytes: Vec<u8>,
}

impl FieldWriter {
    /// Creates a writer for a record of about `capacity` bytes.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity) }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Writes a byte string with its length.
    pub(super) fn bytes(&mut self, value: &[u8]) {
        self.u32(value.len() as u32);
        self.bytes.extend_from_slice(value);
    }

    pub(super) fn name(&mut self, value: &NodeName) {
        self.bytes(value.as_str().as_bytes());
    }

    pub(super) fn tag(&mut self, value: RecordTag) {
        self.bytes.extend_from_slice(&value.0);
    }

    pub(super) fn start(&mut self, value: StartId) {
        self.bytes.extend_from_slice(&value.0);
    }

    pub(super) fn purge_id(&mut self, value: PurgeId) {
        self.start(value.start);
        self.u64(value.sequence);
    }

    pub(super) fn position(&mut self, value: LogPosition) {
        self.u64(value.id.epoch);
        self.u64(value.id.number);
        self.tag(value.tag);
    }
}

/// Checks that the version of a format is `known`, the only one that this version of Myriad reads.
///
/// # Errors
/// Returns an error if it is 0, which is invalid, or another version.
pub(super) fn check_version(version: u8, known: u8) -> Result<(), RecordError> {
    match version {
        0 => Err(RecordError::Malformed),
        version if version == known => Ok(()),
        _ => Err(RecordError::NewerVersion),
    }
}

/// Record that is being read. Every method returns [`RecordError::Malformed`] if the record is incomplete.
pub(super) struct FieldReader<'a> {
    rest: &'a [u8],
}

impl<'a> FieldReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Checks that every byte was read.
    pub(super) fn finish(self) -> Result<(), RecordError> {
        if self.rest.is_empty() { Ok(()) } else { Err(RecordError::Malformed) }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], RecordError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(RecordError::Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Reads the version of a format, as [`check_version`].
    pub(super) fn version(&mut self, known: u8) -> Result<(), RecordError> {
        check_version(self.byte()?, known)
    }

    pub(super) fn byte(&mut self) -> Result<u8, RecordError> {
        Ok(self.take::<1>()?[0])
    }

    pub(super) fn u32(&mut self) -> Result<u32, RecordError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, RecordError> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads a byte string of at most `max` bytes.
    pub(super) fn bytes(&mut self, max: usize) -> Result<&'a [u8], RecordError> {
        let length = self.u32()? as usize;
        if length > max || length > self.rest.len() {
            return Err(RecordError::Malformed);
        }
        let (bytes, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads UTF-8 text of at most `max` bytes.
    pub(super) fn text(&mut self, max: usize) -> Result<String, RecordError> {
        String::from_utf8(self.bytes(max)?.to_vec()).map_err(|_| RecordError::Malformed)
    }

    pub(super) fn name(&mut self) -> Result<NodeName, RecordError> {
        NodeName::new(&self.text(u8::MAX as usize)?).map_err(|_| RecordError::Malformed)
    }

    pub(super) fn tag(&mut self) -> Result<RecordTag, RecordError> {
        self.take().map(RecordTag)
    }

    pub(super) fn start(&mut self) -> Result<StartId, RecordError> {
        self.take().map(StartId)
    }

    pub(super) fn purge_id(&mut self) -> Result<PurgeId, RecordError> {
        Ok(PurgeId { start: self.start()?, sequence: self.u64()? })
    }

    pub(super) fn position(&mut self) -> Result<LogPosition, RecordError> {
        let id = EntryId { epoch: self.u64()?, number: self.u64()? };
        Ok(LogPosition { id, tag: self.tag()? })
    }

    /// Reads a number of items and the items. The number has no effect on memory: items are read one by one.
    pub(super) fn items<T>(
        &mut self,
        max: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, RecordError>,
    ) -> Result<Vec<T>, RecordError> {
        let count = self.u32()? as usize;
        if count > max {
            return Err(RecordError::Malformed);
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }
}
