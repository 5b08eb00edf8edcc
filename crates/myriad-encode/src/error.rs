//! Errors of encoding and decoding bodies with content codings.

use std::fmt;

/// Reason why a body could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The encoding library failed: a bug in this crate or in the library, or too little memory; never an error in the
    /// input.
    Library,
    /// The coding is not part of this build.
    Missing,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EncodeError::Library => "the encoder failed",
            EncodeError::Missing => "the coding is not part of this build",
        })
    }
}

impl std::error::Error for EncodeError {}

/// Reason why an encoded body could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentDecodeError {
    /// The decoded body exceeds the limit of the caller.
    TooLong,
    /// The bytes are not valid for their `Content-Encoding`, a zstd window is larger than 8 MB, or the zstd decoder has
    /// too little memory.
    Corrupt,
    /// The encoded body ends early.
    Truncated,
    /// The coding is not part of this build.
    Missing,
}

impl fmt::Display for ContentDecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ContentDecodeError::TooLong => "the decoded body exceeds its limit",
            ContentDecodeError::Corrupt => "the encoded body is corrupt",
            ContentDecodeError::Truncated => "the encoded body is truncated",
            ContentDecodeError::Missing => "the coding is not part of this build",
        })
    }
}

impl std::error::Error for ContentDecodeError {}
