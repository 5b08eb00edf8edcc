//! The chunked coding (RFC 9112 §7.1).

mod extension;

use std::ops::Range;

use self::extension::Extension;
use super::{HeadLimits, Parsed, line, response};
use crate::{Fields, ParseError};

/// What ends a chunked body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// The longest extension of one chunk in bytes, and all of them may be this much: long ones only serve to waste the
/// reader's time.
const EXTENSION_LIMIT: u16 = 1024;

/// Bounds on the trailer section.
const TRAILER_LIMITS: HeadLimits = HeadLimits {
    line: 8192,
    total: 8192,
    fields: 100,
    ignore_invalid_headers: false,
    underscores_in_headers: true,
};

/// What one call of [`ChunkedDecoder::decode`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// How many bytes of the input are done with; the next call gets what follows them.
    pub consumed: usize,
    /// The bytes of the input that are body; may be empty.
    pub data: Range<usize>,
    /// Whether the body is complete, trailers included.
    pub done: bool,
}

/// Where the decoder is.
///
/// ```text
/// Size --> SizeDigits --;--> Extension --CR--> SizeEnd --LF--> Data --> DataCr --> DataLf --> Size
///              |  `--blank--> Blank --;--> Extension              `-size 0-> Trailer --> Done
///              `--CR--> SizeEnd
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Before the first digit of a size.
    #[default]
    Size,
    SizeDigits,
    /// After white space that followed the size.
    Blank,
    Extension(Extension),
    /// After the CR of a size line.
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    /// In the trailer section, whose lines are collected until it is complete.
    Trailer,
    Done,
}

/// A streaming decoder of the chunked coding that holds no data, only trailers.
///
/// Strict where readers differ: lines end in CRLF, sizes are hexadecimal digits and below 2⁶³, extensions are of the
/// grammar.
#[derive(Clone, Debug, Default)]
pub struct ChunkedDecoder {
    state: State,
    /// Whether it reads what an origin sent.
    of_origin: bool,
    /// Of the chunk: its size while that is read, then what is left of its data.
    left: u64,
    /// Bytes of extensions so far.
    extension: u16,
    trailer: Option<Box<Trailer>>,
}

#[derive(Clone, Debug, Default)]
struct Trailer {
    lines: Vec<u8>,
    fields: Fields,
}

impl ChunkedDecoder {
    /// A decoder before the first chunk.
    pub fn new() -> Self {
        Self::default()
    }

    /// A decoder for the answers of an origin: white space may stand between a size and the end of its line, as old
    /// servers pad their sizes, and extensions need only be free of control bytes. What it reads is framed anew before
    /// anybody else does.
    pub fn of_origin() -> Self {
        Self { of_origin: true, ..Self::default() }
    }

    /// Decodes the next stretch of `input`: at most one range of data a call. Call again with what is left of the
    /// input until it is all consumed or the body is done; an empty input consumes nothing, and after the end
    /// nothing is consumed either.
    pub fn decode(&mut self, input: &[u8]) -> Result<Chunk, ParseError> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match self.state {
                State::Data => return Ok(self.take_data(input, at)),
                State::Trailer => return self.take_trailer(input, at),
                State::Done => break,
                _ => self.step(byte)?,
            }
            at += 1;
        }
        Ok(Chunk { consumed: at, data: at..at, done: self.is_done() })
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The trailer fields, once the body is done and if there are any (RFC 9112 §7.1.2).
    pub fn trailers(&self) -> Option<&Fields> {
        self.trailer.as_deref().filter(|_| self.is_done()).map(|trailer| &trailer.fields)
    }

    /// Takes one byte of the framing between data and data.
    fn step(&mut self, byte: u8) -> Result<(), ParseError> {
        self.state = match (self.state, byte) {
            (State::Size | State::SizeDigits, digit) if digit.is_ascii_hexdigit() => {
                self.add_digit(digit)?;
                State::SizeDigits
            }
            (State::SizeDigits | State::Blank, b' ' | b'\t') => {
                self.count_extension()?;
                State::Blank
            }
            (State::SizeDigits | State::Blank, b';') => {
                State::Extension(if self.of_origin { Extension::Any } else { Extension::Start })
            }
            (State::SizeDigits, b'\r') => State::SizeEnd,
            (State::Blank, b'\r') if self.of_origin => State::SizeEnd,
            (State::Extension(extension), b'\r') if extension.may_end() => State::SizeEnd,
            (State::SizeDigits | State::Blank | State::Extension(_), b'\n') => {
                return Err(ParseError::InvalidChunkEnd);
            }
            (State::Extension(extension), _) => {
                self.count_extension()?;
                State::Extension(extension.next(byte).ok_or(ParseError::InvalidChunkExtension)?)
            }
            (State::SizeEnd, b'\n') if self.left == 0 => State::Trailer,
            (State::SizeEnd, b'\n') => State::Data,
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size,
            (State::SizeEnd | State::DataCr | State::DataLf, _) => return Err(ParseError::InvalidChunkEnd),
            _ => return Err(ParseError::InvalidChunkSize),
        };
        Ok(())
    }

    fn add_digit(&mut self, digit: u8) -> Result<(), ParseError> {
        let value = char::from(digit).to_digit(16).unwrap_or(0);
        if self.left >= 1 << 59 {
            return Err(ParseError::InvalidChunkSize);
        }
        self.left = self.left << 4 | u64::from(value);
        // Leading zeros are digits too; they count as extension, so that a size is never longer than its line.
        if self.left == 0 { self.count_extension() } else { Ok(()) }
    }

    fn count_extension(&mut self) -> Result<(), ParseError> {
        self.extension += 1;
        if self.extension > EXTENSION_LIMIT { Err(ParseError::InvalidChunkExtension) } else { Ok(()) }
    }

    fn take_data(&mut self, input: &[u8], at: usize) -> Chunk {
        let there = (input.len() - at) as u64;
        let end = at + there.min(self.left) as usize;
        self.left -= (end - at) as u64;
        let mut consumed = end;
        if self.left == 0 {
            // The extension bound is for each chunk, but data pays for it: a stream of tiny chunks runs out.
            self.extension =
                self.extension.saturating_sub((end - at).min(usize::from(EXTENSION_LIMIT)) as u16);
            self.state = State::DataCr;
            if input.get(end..end + 2) == Some(b"\r\n") {
                self.state = State::Size;
                consumed += 2;
            }
        }
        Chunk { consumed, data: at..end, done: false }
    }

    /// Collects trailer lines and reads those that are complete; the usual empty section needs no memory.
    fn take_trailer(&mut self, input: &[u8], at: usize) -> Result<Chunk, ParseError> {
        let rest = &input[at..];
        if self.trailer.is_none() && rest.starts_with(b"\r\n") {
            self.state = State::Done;
            return Ok(Chunk { consumed: at + 2, data: at..at, done: true });
        }
        let trailer = self.trailer.get_or_insert_default();
        let before = trailer.lines.len();
        let room = (TRAILER_LIMITS.total + 1).saturating_sub(before);
        trailer.lines.extend_from_slice(&rest[..rest.len().min(room)]);
        if let Some(last) = memchr::memrchr(b'\n', &trailer.lines[before..]) {
            let lines = &trailer.lines[..=before + last];
            let block = response::read_block(lines, &TRAILER_LIMITS, line::TRAILER, &mut trailer.fields);
            if let Parsed::Complete(len) = block.map_err(trailer_error)? {
                self.state = State::Done;
                trailer.lines = Vec::new();
                return Ok(Chunk { consumed: at + len - before, data: at..at, done: true });
            }
        }
        if trailer.lines.len() > TRAILER_LIMITS.total {
            return Err(ParseError::TrailerTooLarge);
        }
        Ok(Chunk { consumed: input.len(), data: at..at, done: false })
    }
}

fn trailer_error(error: ParseError) -> ParseError {
    match error {
        ParseError::HeaderTooLarge | ParseError::TooManyFields => ParseError::TrailerTooLarge,
        other => other,
    }
}

/// Appends the line that begins a chunk of `len` bytes; after the data comes CRLF. A chunk of length 0 would end the
/// body, so `len` is at least 1.
pub fn encode_chunk_head(len: usize, out: &mut Vec<u8>) {
    debug_assert!(len > 0, "a chunk of length 0 ends the body");
    let digits = (usize::BITS - len.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[len >> (digit * 4) & 15]);
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests;
