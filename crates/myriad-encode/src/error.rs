//! What may go wrong with a coding.

use std::fmt;

/// Why bytes could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The encoder could not get its memory.
    OutOfMemory,
    /// The encoding library refused; a defect of ours or of the library, never of the input.
    Library,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EncodeError::OutOfMemory => "no memory for the encoder",
            EncodeError::Library => "the encoder failed",
        })
    }
}

impl std::error::Error for EncodeError {}

/// Why an origin's encoded bytes could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The decoded body would exceed the limit that the caller set.
    TooLong,
    /// The bytes are not what their `Content-Encoding` says.
    Corrupt,
    /// The bytes end before the coding does.
    Truncated,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecodeError::TooLong => "the decoded body exceeds its limit",
            DecodeError::Corrupt => "the encoded body is corrupt",
            DecodeError::Truncated => "the encoded body is truncated",
        })
    }
}

impl std::error::Error for DecodeError {}
