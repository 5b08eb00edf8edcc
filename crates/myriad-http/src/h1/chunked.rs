//! The chunked coding (RFC 9112 §7.1).

use std::ops::Range;

use crate::{Fields, ParseError};

/// What ends a chunked body without trailers.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

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

/// A streaming decoder of the chunked coding that holds no data.
#[derive(Clone, Debug, Default)]
pub struct ChunkedDecoder {
    trailers: Option<Box<Fields>>,
}

impl ChunkedDecoder {
    /// A decoder before the first chunk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the next stretch of `input`: at most one range of data a call. Call again with what is left of the
    /// input until it is all consumed or the body is done; an empty input consumes nothing.
    pub fn decode(&mut self, _input: &[u8]) -> Result<Chunk, ParseError> {
        Ok(Chunk { consumed: 0, data: 0..0, done: false })
    }

    /// The trailer fields, once the body is done (RFC 9112 §7.1.2).
    pub fn trailers(&self) -> Option<&Fields> {
        self.trailers.as_deref()
    }
}

/// Appends the line that begins a chunk of `len` bytes; after the data comes CRLF. A chunk of length 0 would end the
/// body, so `len` is at least 1.
pub fn encode_chunk_head(len: usize, out: &mut Vec<u8>) {
    debug_assert!(len > 0);
    out.extend_from_slice(format!("{len:x}\r\n").as_bytes());
}
