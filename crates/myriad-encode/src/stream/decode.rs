//! Streaming decoder with a limit of the output size, because a few kilobytes can decode to gigabytes.

use flate2::{Decompress, FlushDecompress, Status};

use crate::brotli_coding::BrotliDecoder;
use crate::step::DecodeStep;
use crate::zstd_coding::ZstdDecoder;
use crate::{Coding, ContentDecodeError};

/// Maximum number of output bytes per step of decoding: the size of the scratch buffer, and the interval of limit
/// checks.
const STEP: usize = 16 << 10;

/// Streaming decoder of a body.
pub struct StreamDecoder {
    inner: DecoderKind,
    /// True if the data may end here: always for identity, otherwise at the end of a gzip member, of a zstd frame
    /// (after both, another may follow) or of the brotli data.
    is_complete: bool,
    /// Number of further output bytes that the limit allows.
    left: u64,
    scratch: Box<[u8]>,
}

enum DecoderKind {
    Identity,
    Gzip(Decompress),
    Brotli(BrotliDecoder),
    Zstd(ZstdDecoder),
}

impl StreamDecoder {
    /// Creates a decoder, which returns an error after more than `max_len` output bytes. Fails if the coding is not
    /// part of this build, or its decoder cannot be created.
    pub fn new(coding: Coding, max_len: u64) -> Result<StreamDecoder, ContentDecodeError> {
        let inner = match coding {
            Coding::Identity => DecoderKind::Identity,
            Coding::Gzip => DecoderKind::Gzip(gzip_member()),
            Coding::Brotli => DecoderKind::Brotli(BrotliDecoder::new()?),
            Coding::Zstd => DecoderKind::Zstd(ZstdDecoder::new()?),
        };
        let scratch = if coding == Coding::Identity { Box::default() } else { vec![0; STEP].into() };
        Ok(StreamDecoder { inner, is_complete: coding == Coding::Identity, left: max_len, scratch })
    }

    /// Decodes `bytes` and appends the output to `out`. After an error the decoder must not be used any more.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ContentDecodeError> {
        self.push_up_to(bytes, out, usize::MAX).map(drop)
    }

    /// Same as [`push`](Self::push), but stops once `out` contains at least `most` bytes (at most 16 KB more); identity
    /// ignores `most`. Returns the number of consumed bytes, and true if all of `bytes` was decoded and its output
    /// written. If false, call it again with the rest of `bytes`, even if the rest is empty.
    pub fn push_up_to(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<(usize, bool), ContentDecodeError> {
        if matches!(self.inner, DecoderKind::Identity) {
            self.left = self.left.checked_sub(bytes.len() as u64).ok_or(ContentDecodeError::TooLong)?;
            out.extend_from_slice(bytes);
            return Ok((bytes.len(), true));
        }
        let mut rest = bytes;
        loop {
            if self.is_complete && !rest.is_empty() {
                self.start_next_member(rest)?;
            }
            let step = self.decode_step(rest)?;
            rest = rest.get(step.read..).unwrap_or_default();
            self.left = self.left.checked_sub(step.written as u64).ok_or(ContentDecodeError::TooLong)?;
            out.extend_from_slice(&self.scratch[..step.written]);
            self.is_complete |= step.is_complete;
            // If the scratch buffer is full, more output may follow although all input is consumed.
            let drained = step.written < self.scratch.len() || self.is_complete;
            if rest.is_empty() && drained {
                return Ok((bytes.len(), true));
            }
            if step.read == 0 && step.written == 0 && !step.is_complete {
                return Err(ContentDecodeError::Corrupt);
            }
            if out.len() >= most {
                return Ok((bytes.len() - rest.len(), false));
            }
        }
    }

    /// Returns an error if the data is truncated. With a coding, this includes an empty body.
    pub fn finish(self) -> Result<(), ContentDecodeError> {
        if self.is_complete { Ok(()) } else { Err(ContentDecodeError::Truncated) }
    }

    fn decode_step(&mut self, input: &[u8]) -> Result<DecodeStep, ContentDecodeError> {
        match &mut self.inner {
            DecoderKind::Identity => Ok(DecodeStep { read: input.len(), written: 0, is_complete: true }),
            DecoderKind::Gzip(state) => gzip_step(state, input, &mut self.scratch),
            DecoderKind::Brotli(decoder) => decoder.step(input, &mut self.scratch),
            DecoderKind::Zstd(decoder) => decoder.step(input, &mut self.scratch),
        }
    }

    /// Starts the next gzip member (RFC 1952 §2.2) or zstd frame (RFC 8878 §3.1). Other trailing data is an error.
    fn start_next_member(&mut self, rest: &[u8]) -> Result<(), ContentDecodeError> {
        match &mut self.inner {
            DecoderKind::Gzip(state) if rest[0] == 0x1f => *state = gzip_member(),
            DecoderKind::Zstd(_) => {}
            _ => return Err(ContentDecodeError::Corrupt),
        }
        self.is_complete = false;
        Ok(())
    }
}

/// Creates a gzip decoder. 15 bits (32 KB) is the only window size of the format.
fn gzip_member() -> Decompress {
    Decompress::new_gzip(15)
}

fn gzip_step(state: &mut Decompress, input: &[u8], out: &mut [u8]) -> Result<DecodeStep, ContentDecodeError> {
    let (before_in, before_out) = (state.total_in(), state.total_out());
    let status =
        state.decompress(input, out, FlushDecompress::None).map_err(|_| ContentDecodeError::Corrupt)?;
    Ok(DecodeStep {
        read: (state.total_in() - before_in) as usize,
        written: (state.total_out() - before_out) as usize,
        is_complete: status == Status::StreamEnd,
    })
}
