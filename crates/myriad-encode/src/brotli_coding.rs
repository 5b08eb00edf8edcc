//! Brotli (RFC 7932). Part of the build with the feature `brotli`.

use std::io::Write;

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};

use crate::step::{DecodeStep, STREAM_WINDOW_BITS, with_output};
use crate::{ContentDecodeError, EncodeError};

/// True, since brotli is part of this build.
pub(crate) const IS_COMPILED: bool = true;

/// Buffer size of the brotli writer, in bytes.
const INPUT_BUFFER: usize = 16 << 10;

/// Encodes a whole body. `level` is from 0 to 11.
pub(crate) fn compress(level: i32, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: level,
        lgwin: window_bits(body.len()),
        size_hint: body.len(),
        ..Default::default()
    };
    let out = Vec::with_capacity(body.len() / 4 + 64);
    let mut writer = brotli::CompressorWriter::with_params(out, INPUT_BUFFER, &params);
    writer.write_all(body).map_err(|_| EncodeError::Library)?;
    let mut out = writer.into_inner();
    out.shrink_to_fit();
    Ok(out)
}

/// Returns the brotli window in bits (RFC 7932 §9.1): from 18 to 22, which is enough for a body of up to 4 MB. With 16
/// bits or fewer, the encoder uses a match finder that takes 20 ms instead of 1 ms (level 5, 40 KB) and finds fewer
/// matches.
fn window_bits(len: usize) -> i32 {
    (len.max(1).ilog2() as i32 + 1).clamp(18, 22)
}

/// Streaming brotli encoder.
pub(crate) struct BrotliEncoder(Box<brotli::CompressorWriter<Vec<u8>>>);

impl BrotliEncoder {
    /// Creates a brotli encoder with a `level` from 0 to 11; never fails.
    #[expect(clippy::unnecessary_wraps, reason = "same signature as in absent_coding")]
    pub(crate) fn new(level: u8) -> Result<Self, EncodeError> {
        let window = STREAM_WINDOW_BITS.into();
        Ok(Self(Box::new(brotli::CompressorWriter::new(Vec::new(), INPUT_BUFFER, level.into(), window))))
    }

    /// Encodes `bytes` and appends the available output to `out`.
    pub(crate) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
        with_output(&mut *self.0, |w| w.get_mut(), out, |w| w.write_all(bytes))
    }

    /// Appends all output needed to decode the bytes pushed so far.
    pub(crate) fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        with_output(&mut *self.0, |w| w.get_mut(), out, Write::flush)
    }

    /// Completes the encoded body and appends its last bytes to `out`.
    #[expect(clippy::unnecessary_wraps, reason = "same signature as in absent_coding")]
    pub(crate) fn finish(mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        std::mem::swap(self.0.get_mut(), out);
        *out = self.0.into_inner();
        Ok(())
    }
}

/// Streaming brotli decoder.
pub(crate) struct BrotliDecoder(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>);

impl BrotliDecoder {
    /// Creates a brotli decoder; never fails.
    #[expect(clippy::unnecessary_wraps, reason = "same signature as in absent_coding")]
    pub(crate) fn new() -> Result<Self, ContentDecodeError> {
        let [a, b, c] = [(); 3].map(|()| StandardAlloc::default());
        Ok(Self(Box::new(BrotliState::new_strict(a, b, c))))
    }

    /// Decodes as much of `input` as the output fits into `out`. Returns the numbers of bytes read and written, and
    /// whether the body is complete.
    pub(crate) fn step(&mut self, input: &[u8], out: &mut [u8]) -> Result<DecodeStep, ContentDecodeError> {
        let (mut available_in, mut read) = (input.len(), 0);
        let (mut available_out, mut written, mut total) = (out.len(), 0, 0);
        let result = BrotliDecompressStream(
            &mut available_in,
            &mut read,
            input,
            &mut available_out,
            &mut written,
            out,
            &mut total,
            &mut self.0,
        );
        match result {
            BrotliResult::ResultFailure => Err(ContentDecodeError::Corrupt),
            BrotliResult::ResultSuccess => Ok(DecodeStep { read, written, is_complete: true }),
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {
                Ok(DecodeStep { read, written, is_complete: false })
            }
        }
    }
}
