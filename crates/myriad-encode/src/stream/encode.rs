//! Streaming encoder, with a flush for responses that clients display as they arrive.

use std::io::{self, Write};
use std::mem::swap;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::error::encode_error;
use crate::{Coding, CompressionLevel, EncodeError, brotli_coding, zstd_coding};

/// Window of streamed brotli and zstd bodies in bits. 256 KB is enough for pages and limits a stream to about 1 MB of
/// memory, instead of several MB with the default windows.
#[cfg_attr(
    not(any(feature = "brotli", feature = "zstd")),
    expect(dead_code, reason = "used by these codings")
)]
pub(crate) const STREAM_WINDOW_BITS: u8 = 18;

/// Maximum level of the streaming gzip encoder (zlib). libdeflate, which encodes whole bodies, supports levels up to
/// 12.
const GZIP_STREAM_MAX: u8 = 9;

/// Streaming encoder of a response that is not stored.
pub struct StreamEncoder(EncoderKind);

enum EncoderKind {
    Identity,
    Gzip(GzEncoder<Vec<u8>>),
    Brotli(brotli_coding::Encoder),
    Zstd(zstd_coding::Encoder),
}

impl StreamEncoder {
    /// Creates a streaming encoder. Higher gzip levels than 9 count as 9.
    pub fn new(coding: Coding, level: CompressionLevel) -> Result<StreamEncoder, EncodeError> {
        let number = level.number(coding);
        Ok(StreamEncoder(match coding {
            Coding::Identity => EncoderKind::Identity,
            Coding::Gzip => {
                let level = Compression::new(number.min(GZIP_STREAM_MAX).into());
                EncoderKind::Gzip(GzEncoder::new(Vec::new(), level))
            }
            Coding::Brotli => EncoderKind::Brotli(brotli_coding::Encoder::new(number)?),
            Coding::Zstd => EncoderKind::Zstd(zstd_coding::Encoder::new(number)?),
        }))
    }

    /// Encodes `bytes` and appends the available output to `out`, which may be none.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match &mut self.0 {
            EncoderKind::Identity => {
                out.extend_from_slice(bytes);
                Ok(())
            }
            EncoderKind::Gzip(writer) => with_output(writer, GzEncoder::get_mut, out, |w| w.write_all(bytes)),
            EncoderKind::Brotli(encoder) => encoder.push(bytes, out),
            EncoderKind::Zstd(encoder) => encoder.push(bytes, out),
        }
    }

    /// Appends all output needed to decode the bytes pushed so far. Frequent flushes reduce the compression.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match &mut self.0 {
            EncoderKind::Identity => Ok(()),
            EncoderKind::Gzip(writer) => with_output(writer, GzEncoder::get_mut, out, Write::flush),
            EncoderKind::Brotli(encoder) => encoder.flush(out),
            EncoderKind::Zstd(encoder) => encoder.flush(out),
        }
    }

    /// Ends the body and appends the last bytes to `out`.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self.0 {
            EncoderKind::Identity => Ok(()),
            EncoderKind::Gzip(mut writer) => {
                with_output(&mut writer, GzEncoder::get_mut, out, GzEncoder::try_finish)
            }
            EncoderKind::Brotli(encoder) => encoder.finish(out),
            EncoderKind::Zstd(encoder) => encoder.finish(out),
        }
    }
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
    result.map_err(encode_error)
}
