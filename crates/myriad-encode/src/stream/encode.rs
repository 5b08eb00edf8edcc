//! Streaming encoder, with a flush for responses that clients display as they arrive.

use std::io::{self, Write};
use std::mem::swap;

use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::raw::CParameter;

use crate::{Coding, CompressionLevel, EncodeError};

/// Window of streamed brotli and zstd bodies in bits. 256 KB is enough for pages and limits a stream to about 1 MB of
/// memory, instead of several MB with the default windows.
const WINDOW_BITS: u8 = 18;

/// Maximum level of the streaming gzip encoder (zlib). libdeflate, which encodes whole bodies, supports levels up to
/// 12.
const GZIP_STREAM_MAX: u8 = 9;

/// Streaming encoder of a response that is not stored.
pub struct StreamEncoder(EncoderKind);

enum EncoderKind {
    Identity,
    Gzip(GzEncoder<Vec<u8>>),
    Brotli(Box<brotli::CompressorWriter<Vec<u8>>>),
    Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>),
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
            Coding::Brotli => EncoderKind::Brotli(Box::new(brotli::CompressorWriter::new(
                Vec::new(),
                16 << 10,
                number.into(),
                WINDOW_BITS.into(),
            ))),
            Coding::Zstd => EncoderKind::Zstd(zstd_stream(number).map_err(encode_error)?),
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
            EncoderKind::Brotli(writer) => {
                with_output(&mut **writer, |w| w.get_mut(), out, |w| w.write_all(bytes))
            }
            EncoderKind::Zstd(writer) => with_output(writer, |w| w.get_mut(), out, |w| w.write_all(bytes)),
        }
    }

    /// Appends all output needed to decode the bytes pushed so far. Frequent flushes reduce the compression.
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match &mut self.0 {
            EncoderKind::Identity => Ok(()),
            EncoderKind::Gzip(writer) => with_output(writer, GzEncoder::get_mut, out, Write::flush),
            EncoderKind::Brotli(writer) => with_output(&mut **writer, |w| w.get_mut(), out, Write::flush),
            EncoderKind::Zstd(writer) => with_output(writer, |w| w.get_mut(), out, Write::flush),
        }
    }

    /// Ends the body and appends the last bytes to `out`.
    pub fn finish(self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self.0 {
            EncoderKind::Identity => Ok(()),
            EncoderKind::Gzip(mut writer) => {
                with_output(&mut writer, GzEncoder::get_mut, out, GzEncoder::try_finish)
            }
            EncoderKind::Brotli(mut writer) => {
                swap(writer.get_mut(), out);
                *out = writer.into_inner();
                Ok(())
            }
            EncoderKind::Zstd(mut writer) => {
                swap(writer.get_mut(), out);
                *out = writer.finish().map_err(encode_error)?;
                Ok(())
            }
        }
    }
}

/// Runs `step` while the writer uses the buffer of the caller, so that encoded bytes are not copied.
fn with_output<W>(
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

fn zstd_stream(level: u8) -> io::Result<zstd::stream::write::Encoder<'static, Vec<u8>>> {
    let mut writer = zstd::stream::write::Encoder::new(Vec::new(), level.into())?;
    writer.set_parameter(CParameter::WindowLog(WINDOW_BITS.into()))?;
    Ok(writer)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err takes")]
fn encode_error(error: io::Error) -> EncodeError {
    match error.kind() {
        io::ErrorKind::OutOfMemory => EncodeError::OutOfMemory,
        _ => EncodeError::Library,
    }
}
