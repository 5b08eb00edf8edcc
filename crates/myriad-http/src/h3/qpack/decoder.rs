//! State shared by all field sections of a connection: the dynamic table of the client and the pending decoder
//! instructions.

use super::dynamic::{OVERHEAD, Table, Text};
use super::instruction::{self, Instruction, Name};
use super::literal::{Fault, Literal};
use super::section::{self, Prefix};
use super::table::STATIC;
use super::{DecodeError, MAX_BLOCKED_STREAMS, MAX_TABLE_CAPACITY};
use crate::h2::hpack::integer;
use crate::h3::error::{Code, Error};

/// Maximum length in bytes of the name and value of an entry together.
const LONGEST: usize = MAX_TABLE_CAPACITY - OVERHEAD;
/// Number of bytes appended to a partial instruction at a time.
const PIECE: usize = 512;
/// Maximum number of pending bytes of decoder instructions. A larger backlog is an attack: the client has sent
/// thousands of requests without reading.
const PATIENCE: usize = 8192;

/// Decoder of field sections.
#[derive(Debug, Default)]
pub struct Decoder {
    table: Table,
    /// Number of streams with sections that wait for entries.
    blocked: usize,
    /// Number of entries whose arrival has been acknowledged to the client.
    told: u64,
    /// Pending decoder instructions to the client.
    out: Vec<u8>,
}

impl Decoder {
    /// Returns the number of inserted entries; a section with this required insert count or a lower one can be decoded.
    pub fn inserted(&self) -> u64 {
        self.table.inserted()
    }

    /// Returns whether the last of `required` entries is still in the table.
    ///
    /// A client must not evict entries of a section before the section is acknowledged (RFC 9204 §2.1.1). While this is
    /// true, a repeated decoding of the insert count in the section has the same result.
    pub(in super::super) fn has(&self, required: u64) -> bool {
        required.checked_sub(1).is_none_or(|last| self.table.get(last).is_some())
    }

    /// Returns whether any stream waits for entries.
    pub fn has_blocked(&self) -> bool {
        self.blocked > 0
    }

    /// Returns the bytes to send on the server's decoder stream; the sender must remove them.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Decodes a complete field section of a stream and passes each field to `take`.
    ///
    /// All names and values together may have at most `total` bytes, and each of them at most `each` bytes. The limits
    /// are checked before a field is copied.
    ///
    /// # Errors
    /// With [`DecodeError::Blocked`], the stream counts as blocked until [`Self::unblock`].
    pub(in super::super) fn section(
        &mut self,
        stream: u64,
        section: &[u8],
        (each, total): (usize, usize),
        take: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), DecodeError> {
        let mut input = section;
        let prefix = Prefix::read(&mut input, self.table.inserted()).ok_or(DecodeError::Broken)?;
        if prefix.required > self.table.inserted() {
            if self.blocked == MAX_BLOCKED_STREAMS {
                return Err(DecodeError::Broken);
            }
            self.blocked += 1;
            return Err(DecodeError::Blocked(prefix.required));
        }
        let outcome = section::read(input, prefix, &self.table, (each, total), take);
        if prefix.required > 0 && outcome != Err(DecodeError::Broken) {
            // RFC 9204 §4.4.1: the section acknowledgement also acknowledges the entries.
            integer::write(&mut self.out, 0x80, 7, usize::try_from(stream).unwrap_or(usize::MAX));
            self.told = self.told.max(prefix.required);
        }
        outcome
    }

    /// Returns the size of all entries of the table in bytes (RFC 9204 §3.2.1).
    #[cfg(test)]
    pub(super) fn table_size(&self) -> usize {
        self.table.counted()
    }

    /// Records that a stream is no longer blocked.
    pub(in super::super) fn unblock(&mut self) {
        self.blocked = self.blocked.saturating_sub(1);
    }

    /// Queues a stream cancellation: the rest of the stream is not read (RFC 9204 §4.4.2).
    pub fn cancel(&mut self, stream: u64) {
        integer::write(&mut self.out, 0x40, 6, usize::try_from(stream).unwrap_or(usize::MAX));
    }

    /// Checks that the client reads the decoder stream.
    ///
    /// # Errors
    /// Too many bytes are pending; the connection must close.
    pub fn check_patience(&self) -> Result<(), Error> {
        if self.out.len() > PATIENCE {
            return Err(Error::connection(Code::ExcessiveLoad, "the QPACK decoder stream is not read"));
        }
        Ok(())
    }

    /// Processes all of `input`, the next bytes of the client's encoder stream. `kept` stores a partial instruction.
    ///
    /// # Errors
    /// The client violated a rule; the connection must close.
    pub(in super::super) fn instructions(
        &mut self,
        kept: &mut Vec<u8>,
        input: &mut &[u8],
    ) -> Result<(), Error> {
        while !input.is_empty() {
            if kept.is_empty() {
                self.run(input)?;
                // The rest is a partial instruction.
                kept.extend_from_slice(input);
                *input = &[];
            } else {
                let (piece, rest) = input.split_at(input.len().min(PIECE));
                *input = rest;
                kept.extend_from_slice(piece);
                let mut together = &kept[..];
                self.run(&mut together)?;
                let read = kept.len() - together.len();
                kept.drain(..read);
            }
        }
        if kept.is_empty() {
            *kept = Vec::new();
        }
        let news = self.table.inserted() - self.told;
        if news > 0 {
            // RFC 9204 §4.4.3.
            integer::write(&mut self.out, 0, 6, usize::try_from(news).unwrap_or(usize::MAX));
            self.told += news;
        }
        Ok(())
    }

    /// Executes all complete instructions.
    fn run(&mut self, input: &mut &[u8]) -> Result<(), Error> {
        loop {
            let done = match instruction::read(input, LONGEST) {
                Ok(Instruction::Capacity(capacity)) => self.resize(capacity),
                Ok(Instruction::Insert { name, value }) => self.insert(name, value),
                Ok(Instruction::Duplicate(index)) => self.duplicate(index),
                Err(Fault::Partial) => return Ok(()),
                Err(Fault::Broken) => None,
            };
            done.ok_or_else(|| {
                Error::connection(Code::QpackEncoderStream, "invalid QPACK encoder instruction")
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

    fn insert(&mut self, name: Name<'_>, value: Literal<'_>) -> Option<()> {
        let name = match name {
            Name::Static(index) => Text::Static(STATIC.get(index)?.0),
            Name::Dynamic(index) => self.table.newest(index)?.0.clone(),
            Name::Literal(name) => shared(name)?,
        };
        self.table.insert(name, shared(value)?)
    }
}

fn shared(literal: Literal<'_>) -> Option<Text> {
    let mut text = Vec::new();
    literal.append(LONGEST, &mut text).ok()?;
    Some(if text.is_empty() { Text::Static(b"") } else { Text::Shared(text.into()) })
}
