//! What all field sections of a connection share: the table that its client fills, and what the client is told about it.

use super::dynamic::{OVERHEAD, Table, Text};
use super::instruction::{self, Instruction, Name};
use super::literal::{Fault, Literal};
use super::section::{self, Prefix};
use super::table::STATIC;
use super::{DecodeError, MAX_BLOCKED_STREAMS, MAX_TABLE_CAPACITY};
use crate::h2::hpack::integer;
use crate::h3::error::{Code, Error};

/// Bytes of a name and a value that may be put into the table.
const LONGEST: usize = MAX_TABLE_CAPACITY - OVERHEAD;
/// Bytes of a cut instruction that are looked at together.
const PIECE: usize = 512;
/// Bytes that wait for the client to take them before it is an attack: it has sent thousands of requests and read nothing.
const PATIENCE: usize = 8192;

/// Reads field sections.
#[derive(Debug, Default)]
pub struct Decoder {
    table: Table,
    /// Streams whose sections wait for entries.
    blocked: usize,
    /// Entries that the client knows to have come.
    told: u64,
    /// What the client is to be told.
    out: Vec<u8>,
}

impl Decoder {
    /// Entries that have come: a section that needs as many can be read.
    pub fn inserted(&self) -> u64 {
        self.table.inserted()
    }

    /// Whether the last of so many entries is there. What a section refers to may not go before the section was read (RFC 9204
    /// §2.1.1): as long as that holds, the count that it tells is read anew as the same.
    pub(in super::super) fn has(&self, required: u64) -> bool {
        required.checked_sub(1).is_none_or(|last| self.table.get(last).is_some())
    }

    /// Whether a stream waits for entries.
    pub fn has_blocked(&self) -> bool {
        self.blocked > 0
    }

    /// What is to be sent on the server's stream of its decoder; whoever sends it takes it out.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Reads a whole section of a stream and gives `take` each field. Names and values may be at most `total` bytes together,
    /// and one field `each` bytes: they are counted before they are copied.
    ///
    /// # Errors
    /// With [`DecodeError::Blocked`] the stream counts as blocked until [`Self::unblock`].
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
            // RFC 9204 §4.4.1: it says that the entries have come, too.
            integer::write(&mut self.out, 0x80, 7, usize::try_from(stream).unwrap_or(usize::MAX));
            self.told = self.told.max(prefix.required);
        }
        outcome
    }

    /// What the entries of the table count for, bytes (RFC 9204 §3.2.1).
    #[cfg(test)]
    pub(super) fn table_size(&self) -> usize {
        self.table.counted()
    }

    /// A stream waits no more.
    pub(in super::super) fn unblock(&mut self) {
        self.blocked = self.blocked.saturating_sub(1);
    }

    /// The rest of a stream is not read (RFC 9204 §4.4.2).
    pub fn cancel(&mut self, stream: u64) {
        integer::write(&mut self.out, 0x40, 6, usize::try_from(stream).unwrap_or(usize::MAX));
    }

    /// Whether the client takes what it is told.
    ///
    /// # Errors
    /// It does not, and the connection ends.
    pub fn check_patience(&self) -> Result<(), Error> {
        if self.out.len() > PATIENCE {
            return Err(Error::connection(Code::ExcessiveLoad, "the decoder's stream is not read"));
        }
        Ok(())
    }

    /// Takes all of `input`, the next bytes of the client's stream of its encoder. `kept` holds an instruction that is cut.
    ///
    /// # Errors
    /// The client broke a rule: the connection ends.
    pub(in super::super) fn instructions(
        &mut self,
        kept: &mut Vec<u8>,
        input: &mut &[u8],
    ) -> Result<(), Error> {
        while !input.is_empty() {
            if kept.is_empty() {
                self.run(input)?;
                // What is left is the beginning of one.
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

    /// Does what is said as far as it has come whole.
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
                Error::connection(Code::QpackEncoderStream, "instruction that cannot be followed")
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
