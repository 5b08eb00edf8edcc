//! Parts that the streaming encoders and decoders of several codings use.

use std::io;
use std::mem::swap;

use crate::EncodeError;

/// Window in bits with which brotli and zstd bodies are encoded as streams. 256 KB is enough for pages and limits a
/// stream to about 1 MB of memory, instead of several MB with the default windows.
#[cfg_attr(
    not(any(feature = "brotli", feature = "zstd")),
    expect(dead_code, reason = "used by these codings")
)]
pub(crate) const STREAM_WINDOW_BITS: u8 = 18;

/// Numbers of bytes that one step of a decoder has read and written.
pub(crate) struct DecodeStep {
    pub(crate) read: usize,
    pub(crate) written: usize,
    /// True at the end of a gzip member, of a zstd frame, or of the brotli data.
    pub(crate) is_complete: bool,
}

/// Runs `step` while the writer uses the buffer of the caller, so that encoded bytes are not copied.
pub(crate) fn with_output<W>(
    writer: &mut W,
    buffer: impl Fn(&mut W) -> &mut Vec<u8>,
    out: &mut Vec<u8>,
    step: impl FnOnce(&mut W) -> io::Result<()>,
) -> Result<(), EncodeError> {
    swap(buffer(writer), out);
    let result = step(writer);
    swap(buffer(writer), out);
    result.map_err(|_| EncodeError::Library)
}
