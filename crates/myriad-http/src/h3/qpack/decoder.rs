//! State that all QPACK field sections from a client share on a connection: the client's dynamic table and the decoder
//! instructions to send.

use super::dynamic::{OVERHEAD, QpackTable, TableText};
use super::instruction::{self, EntryName, Instruction};
use super::literal::{Literal, LiteralError};
use super::section::{self, SectionPrefix};
use super::table::STATIC;
use super::{MAX_BLOCKED_STREAMS, MAX_TABLE_CAPACITY, QpackError};
use crate::h2::hpack::integer;
use crate::h3::error::{Http3Error, Http3ErrorCode};

/// Maximum total length in bytes of the name and value of a table entry.
const LONGEST: usize = MAX_TABLE_CAPACITY - OVERHEAD;
/// Number of bytes of input that are appended to a partial encoder instruction before it is parsed again.
const PIECE: usize = 512;
/// Maximum number of decoder instruction bytes that wait to be sent. More are an attack: the client has sent thousands
/// of requests without reading.
const PATIENCE: usize = 8192;

/// Decoder of the field sections of an HTTP/3 connection, with the client's dynamic table.
#[derive(Debug, Default)]
pub struct QpackDecoder {
    table: QpackTable,
    /// Number of streams whose field section waits for table entries.
    blocked: usize,
    /// Number of table entries whose arrival has been acknowledged to the client.
    acknowledged: u64,
    /// Encoded QPACK decoder instructions that were not sent to the client yet.
    out: Vec<u8>,
}

impl QpackDecoder {
    /// Returns the number of table entries inserted so far, including evicted ones. A section with a higher required
    /// insert count must wait.
    pub fn inserted(&self) -> u64 {
        self.table.inserted()
    }

    /// Returns whether the last of the first `required` table entries is still in the table.
    ///
    /// A client must not evict entries of a section before it is acknowledged (RFC 9204 §2.1.1). If the entry is
    /// missing, the required insert count of the section, which is transmitted modulo a range, would be decoded to
    /// another value.
    pub(in super::super) fn has_entries(&self, required: u64) -> bool {
        required.checked_sub(1).is_none_or(|last| self.table.get(last).is_some())
    }

    /// Returns whether the field section of any stream waits for table entries.
    pub fn has_blocked(&self) -> bool {
        self.blocked > 0
    }

    /// Returns the bytes to send on the server's decoder stream. The caller must remove the bytes that it has sent.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Decodes a complete field section of a stream, and passes the name and value of each field to `take`.
    ///
    /// Each name and value may have at most `each` bytes, and all together at most `total`. The limits are checked
    /// before a field is copied.
    ///
    /// # Errors
    /// Returns an error if the section cannot be decoded. After [`QpackError::Blocked`], the stream counts as blocked
    /// until [`Self::stream_unblocked`].
    pub(in super::super) fn section(
        &mut self,
        stream: u64,
        section: &[u8],
        (each, total): (usize, usize),
        take: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), QpackError> {
        let mut input = section;
        let prefix = SectionPrefix::read(&mut input, self.table.inserted()).ok_or(QpackError::Broken)?;
        if prefix.required > self.table.inserted() {
            if self.blocked == MAX_BLOCKED_STREAMS {
                return Err(QpackError::Broken);
            }
            self.blocked += 1;
            return Err(QpackError::Blocked(prefix.required));
        }
        let outcome = section::read(input, prefix, &self.table, (each, total), take);
        if prefix.required > 0 && outcome != Err(QpackError::Broken) {
            // RFC 9204 §4.4.1: the acknowledgement of a section also acknowledges the entries it refers to.
            integer::write(&mut self.out, 0x80, 7, usize::try_from(stream).unwrap_or(usize::MAX));
            self.acknowledged = self.acknowledged.max(prefix.required);
        }
        outcome
    }

    /// Returns the total size of all table entries in bytes (RFC 9204 §3.2.1).
    #[cfg(test)]
    pub(super) fn table_size(&self) -> usize {
        self.table.used_bytes()
    }

    /// Records that a stream does not wait for table entries any more.
    pub(in super::super) fn stream_unblocked(&mut self) {
        self.blocked = self.blocked.saturating_sub(1);
    }

    /// Queues a stream cancellation, because the rest of the stream will not be read (RFC 9204 §4.4.2).
    pub fn cancel(&mut self, stream: u64) {
        integer::write(&mut self.out, 0x40, 6, usize::try_from(stream).unwrap_or(usize::MAX));
    }

    /// Checks that the client reads the server's decoder stream.
    ///
    /// # Errors
    /// Returns an error if too many bytes wait to be sent on it; the connection must then be closed.
    pub fn check_pending_output(&self) -> Result<(), Http3Error> {
        if self.out.len() > PATIENCE {
            return Err(Http3Error::connection(
                Http3ErrorCode::ExcessiveLoad,
                "the QPACK decoder stream is not read",
            ));
        }
        Ok(())
    }

    /// Processes all of `input`, the next bytes of the client's encoder stream. `partial` stores an incomplete
    /// instruction between calls.
    ///
    /// # Errors
    /// Returns an error if the client violated a rule; the connection must then be closed.
    pub(in super::super) fn instructions(
        &mut self,
        partial: &mut Vec<u8>,
        input: &mut &[u8],
    ) -> Result<(), Http3Error> {
        while !input.is_empty() {
            if partial.is_empty() {
                self.run_instructions(input)?;
                // The rest is an incomplete instruction.
                partial.extend_from_slice(input);
                *input = &[];
            } else {
                let (piece, rest) = input.split_at(input.len().min(PIECE));
                *input = rest;
                partial.extend_from_slice(piece);
                let mut together = &partial[..];
                self.run_instructions(&mut together)?;
                let read = partial.len() - together.len();
                partial.drain(..read);
            }
        }
        if partial.is_empty() {
            *partial = Vec::new();
        }
        let news = self.table.inserted() - self.acknowledged;
        if news > 0 {
            // Instruction "Insert Count Increment" (RFC 9204 §4.4.3).
            integer::write(&mut self.out, 0, 6, usize::try_from(news).unwrap_or(usize::MAX));
            self.acknowledged += news;
        }
        Ok(())
    }

    /// Executes all complete encoder instructions, and removes them from `input`.
    fn run_instructions(&mut self, input: &mut &[u8]) -> Result<(), Http3Error> {
        loop {
            let done = match instruction::read(input, LONGEST) {
                Ok(Instruction::Capacity(capacity)) => self.resize(capacity),
                Ok(Instruction::Insert { name, value }) => self.insert(name, value),
                Ok(Instruction::Duplicate(index)) => self.duplicate(index),
                Err(LiteralError::Partial) => return Ok(()),
                Err(LiteralError::Broken) => None,
            };
            done.ok_or_else(|| {
                Http3Error::connection(
                    Http3ErrorCode::QpackEncoderStream,
                    "invalid QPACK encoder instruction",
                )
            })?;
        }
    }

    fn resize(&mut self, capacity: usize) -> Option<()> {
        (capacity <= MAX_TABLE_CAPACITY).then(|| self.table.resize(capacity))
    }

    fn duplicate(&mut self, index: usize) -> Option<()> {
        let (name, value) = self.table.newest(index)?.clone();
        self.table.insert(name, value)
    }

    fn insert(&mut self, name: EntryName<'_>, value: Literal<'_>) -> Option<()> {
        let name = match name {
            EntryName::Static(index) => TableText::Static(STATIC.get(index)?.0),
            EntryName::Dynamic(index) => self.table.newest(index)?.0.clone(),
            EntryName::Literal(name) => decode_shared(name)?,
        };
        self.table.insert(name, decode_shared(value)?)
    }
}

fn decode_shared(literal: Literal<'_>) -> Option<TableText> {
    let mut text = Vec::new();
    literal.append(LONGEST, &mut text).ok()?;
    Some(if text.is_empty() { TableText::Static(b"") } else { TableText::Shared(text.into()) })
}
