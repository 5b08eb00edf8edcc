//! Chunked transfer coding (RFC 9112 §7.1).

mod extension;

use std::ops::Range;

use self::extension::ExtensionState;
use super::{HeadLimits, ParseStatus, line, response};
use crate::{Fields, ParseError};

/// Last bytes of a chunked body without trailers: a chunk of size 0 and an empty trailer section.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Maximum value of the counter of bytes in chunk extensions, padding and leading zeros of chunk sizes; a body that
/// exceeds it is rejected, because such bytes only waste CPU time of the recipient. Each data byte reduces the counter
/// by one, down to 0.
const EXTENSION_LIMIT: u16 = 1024;

/// Limits of the trailer section of a chunked body: 8 KB and 100 fields.
const TRAILER_LIMITS: HeadLimits = HeadLimits {
    line: 8192,
    total: 8192,
    fields: 100,
    ignore_invalid_headers: false,
    underscores_in_headers: true,
};

/// Result of [`ChunkedDecoder::decode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Number of consumed input bytes; the next call must pass the bytes after them.
    pub consumed: usize,
    /// Range of the input that is body data; may be empty.
    pub data: Range<usize>,
    /// True if the body is complete, including trailers.
    pub done: bool,
}

/// State of the decoder, named after the expected input. In responses of origins, a CR also leads from `Blank` to
/// `SizeEnd`.
///
/// ```text
/// Size --> SizeDigits --;--> Extension --CR--> SizeEnd --LF--> Data --> DataCr --> DataLf --> Size
///              |  `--blank--> Blank --;--> Extension              `-size 0-> Trailer --> Done
///              `--CR--> SizeEnd
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkState {
    /// Before the first digit of a chunk size, at the start of the body or after a chunk.
    #[default]
    Size,
    SizeDigits,
    /// In white space after a chunk size.
    Blank,
    Extension(ExtensionState),
    /// After the CR of the line with a chunk size.
    SizeEnd,
    Data,
    DataCr,
    DataLf,
    /// In the trailer section; its lines are collected until the section is complete.
    Trailer,
    Done,
}

/// Streaming decoder of the chunked coding, which buffers trailers but no data.
///
/// The decoder is strict where implementations differ: lines must be terminated by CRLF, sizes must be hexadecimal
/// digits below 2⁶³, and extensions must follow the grammar. [`Self::for_origin`] lists the exceptions for responses.
#[derive(Clone, Debug, Default)]
pub struct ChunkedDecoder {
    state: ChunkState,
    /// True if the body is a response of an origin, for which extensions and padding are less strict.
    of_origin: bool,
    /// In a size line: the chunk size as far as it is parsed. In data: number of bytes of the chunk that are still
    /// expected.
    left: u64,
    /// Number of bytes in chunk extensions, padding and leading zeros so far; limited by `EXTENSION_LIMIT`. Data
    /// reduces it by its length.
    extension: u16,
    trailer: Option<Box<Trailer>>,
}

#[derive(Clone, Debug, Default)]
struct Trailer {
    lines: Vec<u8>,
    fields: Fields,
}

impl ChunkedDecoder {
    /// Creates a decoder for the body of a request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a decoder for the body of an origin's response.
    ///
    /// White space is accepted between a size and the end of its line, because old servers pad sizes, and extensions
    /// may contain any byte except control bytes other than tabs. This leniency is safe, because decoded bodies are
    /// framed again for the client.
    pub fn for_origin() -> Self {
        Self { of_origin: true, ..Self::default() }
    }

    /// Decodes the next part of `input`, and returns at most one range of data. Fails if the framing is invalid or a
    /// limit is exceeded.
    ///
    /// Call again with the remaining input until everything is consumed or the body is complete. Nothing is consumed of
    /// an empty input, or after the end of the body.
    pub fn decode(&mut self, input: &[u8]) -> Result<Chunk, ParseError> {
        let mut at = 0;
        while let Some(&byte) = input.get(at) {
            match self.state {
                ChunkState::Data => return Ok(self.take_data(input, at)),
                ChunkState::Trailer => return self.collect_trailer(input, at),
                ChunkState::Done => break,
                _ => self.step(byte)?,
            }
            at += 1;
        }
        Ok(Chunk { consumed: at, data: at..at, done: self.is_done() })
    }

    /// Returns whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.state == ChunkState::Done
    }

    /// Returns the trailer fields once the body is complete (RFC 9112 §7.1.2); `None` before. Without trailer fields,
    /// returns `None` or an empty map.
    pub fn trailers(&self) -> Option<&Fields> {
        self.trailer.as_deref().filter(|_| self.is_done()).map(|trailer| &trailer.fields)
    }

    /// Processes one byte of framing, outside data and trailers.
    fn step(&mut self, byte: u8) -> Result<(), ParseError> {
        self.state = match (self.state, byte) {
            (ChunkState::Size | ChunkState::SizeDigits, digit) if digit.is_ascii_hexdigit() => {
                self.add_digit(digit)?;
                ChunkState::SizeDigits
            }
            (ChunkState::SizeDigits | ChunkState::Blank, b' ' | b'\t') => {
                self.count_extension()?;
                ChunkState::Blank
            }
            (ChunkState::SizeDigits | ChunkState::Blank, b';') => ChunkState::Extension(if self.of_origin {
                ExtensionState::Any
            } else {
                ExtensionState::Start
            }),
            (ChunkState::SizeDigits, b'\r') => ChunkState::SizeEnd,
            (ChunkState::Blank, b'\r') if self.of_origin => ChunkState::SizeEnd,
            (ChunkState::Extension(extension), b'\r') if extension.may_end() => ChunkState::SizeEnd,
            (ChunkState::SizeDigits | ChunkState::Blank | ChunkState::Extension(_), b'\n') => {
                return Err(ParseError::InvalidChunkEnd);
            }
            (ChunkState::Extension(extension), _) => {
                self.count_extension()?;
                ChunkState::Extension(extension.next(byte).ok_or(ParseError::InvalidChunkExtension)?)
            }
            (ChunkState::SizeEnd, b'\n') if self.left == 0 => ChunkState::Trailer,
            (ChunkState::SizeEnd, b'\n') => ChunkState::Data,
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Size,
            (ChunkState::SizeEnd | ChunkState::DataCr | ChunkState::DataLf, _) => {
                return Err(ParseError::InvalidChunkEnd);
            }
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
        // Leading zeros are valid. They count as extension bytes, so that the length of a size is limited.
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
        // Only data reduces the count of extension bytes, so a stream of tiny chunks with extensions reaches the limit.
        self.extension = self.extension.saturating_sub((end - at).min(usize::from(EXTENSION_LIMIT)) as u16);
        if self.left == 0 {
            self.state = ChunkState::DataCr;
            if input.get(end..end + 2) == Some(b"\r\n") {
                self.state = ChunkState::Size;
                consumed += 2;
            }
        }
        Chunk { consumed, data: at..end, done: false }
    }

    /// Collects and parses trailer lines. Fails if they are malformed or exceed [`TRAILER_LIMITS`]. The usual empty
    /// section allocates nothing.
    fn collect_trailer(&mut self, input: &[u8], at: usize) -> Result<Chunk, ParseError> {
        let rest = &input[at..];
        if self.trailer.is_none() && rest.starts_with(b"\r\n") {
            self.state = ChunkState::Done;
            return Ok(Chunk { consumed: at + 2, data: at..at, done: true });
        }
        let trailer = self.trailer.get_or_insert_default();
        let before = trailer.lines.len();
        let room = (TRAILER_LIMITS.total + 1).saturating_sub(before);
        trailer.lines.extend_from_slice(&rest[..rest.len().min(room)]);
        if let Some(last) = memchr::memrchr(b'\n', &trailer.lines[before..]) {
            let lines = &trailer.lines[..=before + last];
            let block = response::read_block(lines, &TRAILER_LIMITS, line::TRAILER, &mut trailer.fields);
            if let ParseStatus::Complete(len) = block.map_err(trailer_error)? {
                self.state = ChunkState::Done;
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

/// Appends the size line of a chunk of `len` bytes to `out`; the caller adds the data and CRLF. `len` must be at least
/// 1, because a chunk of length 0 ends the body.
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
