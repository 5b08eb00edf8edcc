//! Zstandard (RFC 8878, as a content coding RFC 9659). Part of the build with the feature `zstd`.

use std::io::Write;
use std::mem::swap;

use zstd::stream::raw::{CParameter, DParameter, Operation};

use crate::step::{DecodeStep, STREAM_WINDOW_BITS, with_output};
use crate::{ContentDecodeError, EncodeError};

/// True, since zstd is part of this build.
pub(crate) const IS_COMPILED: bool = true;

/// Maximum window of zstd as a content coding in bits (RFC 9659): 8 MB.
const DECODER_WINDOW_BITS: u32 = 23;

/// Encodes a whole body. `level` is from 1 to 19.
pub(crate) fn compress(level: i32, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    zstd::bulk::compress(body, level).map_err(|_| EncodeError::Library)
}

/// Streaming zstd encoder.
pub(crate) struct ZstdEncoder(zstd::stream::write::Encoder<'static, Vec<u8>>);

impl ZstdEncoder {
    /// Creates a zstd encoder with a `level` from 1 to 19. Fails if the library cannot create it.
    pub(crate) fn new(level: u8) -> Result<Self, EncodeError> {
        let mut writer =
            zstd::stream::write::Encoder::new(Vec::new(), level.into()).map_err(|_| EncodeError::Library)?;
        writer
            .set_parameter(CParameter::WindowLog(STREAM_WINDOW_BITS.into()))
            .map_err(|_| EncodeError::Library)?;
        Ok(Self(writer))
    }

    /// Encodes `bytes` and appends the available output to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        with_output(&mut self.0, |w| w.get_mut(), out, |w| w.write_all(bytes))
    }

    /// Appends all output needed to decode the bytes pushed so far.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        with_output(&mut self.0, |w| w.get_mut(), out, Write::flush)
    }

    /// Completes the encoded body and appends its last bytes to `out`.
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        swap(self.0.get_mut(), out);
        *out = self.0.finish().map_err(|_| EncodeError::Library)?;
        Ok(())
    }
}

/// Streaming zstd decoder.
pub(crate) struct ZstdDecoder(zstd::stream::raw::Decoder<'static>);

impl ZstdDecoder {
    /// Creates a zstd decoder, which rejects windows of more than 8 MB. Fails if there is too little memory.
    pub(crate) fn new() -> Result<Self, ContentDecodeError> {
        let mut decoder = zstd::stream::raw::Decoder::new().map_err(|_| ContentDecodeError::Corrupt)?;
        decoder
            .set_parameter(DParameter::WindowLogMax(DECODER_WINDOW_BITS))
            .map_err(|_| ContentDecodeError::Corrupt)?;
        Ok(Self(decoder))
    }

    /// Decodes as much of `input` as the output fits into `out`, at most up to the end of the frame. Returns the
    /// numbers of bytes read and written, and whether the frame is complete.
    pub(crate) fn step(&mut self, input: &[u8], out: &mut [u8]) -> Result<DecodeStep, ContentDecodeError> {
        let status = self.0.run_on_buffers(input, out).map_err(|_| ContentDecodeError::Corrupt)?;
        Ok(DecodeStep {
            read: status.bytes_read,
            written: status.bytes_written,
            // A call before the first input byte also reports that nothing remains.
            is_complete: status.remaining == 0 && status.bytes_read > 0,
        })
    }
}
