//! Streaming encoder, with a flush for responses that clients display as they arrive.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::brotli_coding::BrotliEncoder;
use crate::step::with_output;
use crate::zstd_coding::ZstdEncoder;
use crate::{Coding, CompressionLevel, EncodeError};

/// Maximum level of the streaming gzip encoder (zlib). libdeflate, which encodes whole bodies, supports levels up to
/// 12.
const GZIP_STREAM_MAX: u8 = 9;

/// Streaming encoder of a response body.
pub struct StreamEncoder(EncoderKind);

enum EncoderKind {
    Identity,
    Gzip(GzEncoder<Vec<u8>>),
    Brotli(BrotliEncoder),
    Zstd(ZstdEncoder),
}

impl StreamEncoder {
    /// Creates a streaming encoder. Higher gzip levels than 9 count as 9. Fails if the coding is not part of this
    /// build, or its encoder cannot be created.
    pub fn new(coding: Coding, level: CompressionLevel) -> Result<StreamEncoder, EncodeError> {
        let number = level.number(coding);
        Ok(StreamEncoder(match coding {
            Coding::Identity => EncoderKind::Identity,
            Coding::Gzip => {
                let level = Compression::new(number.min(GZIP_STREAM_MAX).into());
                EncoderKind::Gzip(GzEncoder::new(Vec::new(), level))
            }
            Coding::Brotli => EncoderKind::Brotli(BrotliEncoder::new(number)?),
            Coding::Zstd => EncoderKind::Zstd(ZstdEncoder::new(number)?),
        }))
    }

    /// Encodes `bytes` and appends the available output, which may be empty, to `out`.
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

    /// Completes the encoded body and appends its last bytes to `out`.
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
