//! Decoding to identity with a limit of the caller: a few kilobytes may decode to gigabytes.

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, Operation};

use crate::{Coding, DecodeError};

/// Maximum output of one step in bytes: limits both the work between two checks of the limit and the scratch memory.
const STEP: usize = 16 << 10;

/// Maximum zstd window for HTTP in bits (RFC 9659): 8 MB.
const ZSTD_WINDOW_BITS: u32 = 23;

/// Streaming decoder of an origin's response.
pub struct StreamDecoder {
    inner: Inner,
    /// Set once the coding is complete; only another gzip member or zstd frame may follow.
    ended: bool,
    /// Remaining number of output bytes.
    left: u64,
    scratch: Box<[u8]>,
}

enum Inner {
    Identity,
    Gzip(Decompress),
    Brotli(Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>),
    Zstd(ZstdDecoder<'static>),
}

/// Input and output length of one step of a decoder.
struct Step {
    read: usize,
    written: usize,
    ended: bool,
}

impl StreamDecoder {
    /// Creates a decoder that outputs at most `max_len` bytes.
    pub fn new(coding: Coding, max_len: u64) -> Result<StreamDecoder, DecodeError> {
        let inner = match coding {
            Coding::Identity => Inner::Identity,
            Coding::Gzip => Inner::Gzip(gzip_member()),
            Coding::Brotli => Inner::Brotli(Box::new(BrotliState::new_strict(
                StandardAlloc::default(),
                StandardAlloc::default(),
                StandardAlloc::default(),
            ))),
            Coding::Zstd => Inner::Zstd(zstd_decoder()?),
        };
        let scratch = if coding == Coding::Identity { Box::default() } else { vec![0; STEP].into() };
        Ok(StreamDecoder { inner, ended: coding == Coding::Identity, left: max_len, scratch })
    }

    /// Decodes `bytes` and appends the output to `out`. After an error the decoder is unusable.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
        self.push_up_to(bytes, out, usize::MAX).map(drop)
    }

    /// Same as [`push`](Self::push), but returns once `out` has `most` bytes or slightly more. Returns the number of
    /// consumed `bytes`, and whether their output is complete; if not, call it again with the rest, even if that is
    /// empty.
    pub fn push_up_to(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
        most: usize,
    ) -> Result<(usize, bool), DecodeError> {
        if matches!(self.inner, Inner::Identity) {
            self.left = self.left.checked_sub(bytes.len() as u64).ok_or(DecodeError::TooLong)?;
            out.extend_from_slice(bytes);
            return Ok((bytes.len(), true));
        }
        let mut rest = bytes;
        loop {
            if self.ended && !rest.is_empty() {
                self.restart(rest)?;
            }
            let step = self.step(rest)?;
            rest = rest.get(step.read..).unwrap_or_default();
            self.left = self.left.checked_sub(step.written as u64).ok_or(DecodeError::TooLong)?;
            out.extend_from_slice(&self.scratch[..step.written]);
            self.ended |= step.ended;
            // A full scratch buffer may be followed by more output, even if all input is consumed.
            let drained = step.written < self.scratch.len() || self.ended;
            if rest.is_empty() && drained {
                return Ok((bytes.len(), true));
            }
            if step.read == 0 && step.written == 0 && !step.ended {
                return Err(DecodeError::Corrupt);
            }
            if out.len() >= most {
                return Ok((bytes.len() - rest.len(), false));
            }
        }
    }

    /// Checks that the coding is complete.
    pub fn finish(self) -> Result<(), DecodeError> {
        if self.ended { Ok(()) } else { Err(DecodeError::Truncated) }
    }

    fn step(&mut self, input: &[u8]) -> Result<Step, DecodeError> {
        match &mut self.inner {
            Inner::Identity => Ok(Step { read: input.len(), written: 0, ended: true }),
            Inner::Gzip(state) => gzip_step(state, input, &mut self.scratch),
            Inner::Brotli(state) => brotli_step(state, input, &mut self.scratch),
            Inner::Zstd(state) => {
                let status =
                    state.run_on_buffers(input, &mut self.scratch).map_err(|_| DecodeError::Corrupt)?;
                Ok(Step {
                    read: status.bytes_read,
                    written: status.bytes_written,
                    // An empty push before the first byte also reports nothing remaining, but read nothing.
                    ended: status.remaining == 0 && status.bytes_read > 0,
                })
            }
        }
    }

    /// Starts another gzip member (RFC 1952 §2.2) or zstd frame (RFC 8878 §3.1); any other trailing data is corrupt.
    fn restart(&mut self, rest: &[u8]) -> Result<(), DecodeError> {
        match &mut self.inner {
            Inner::Gzip(state) if rest[0] == 0x1f => *state = gzip_member(),
            Inner::Zstd(_) => {}
            _ => return Err(DecodeError::Corrupt),
        }
        self.ended = false;
        Ok(())
    }
}

/// Creates a decoder for the gzip format with a window of 32 KB, the only window of the format.
fn gzip_member() -> Decompress {
    Decompress::new_gzip(15)
}

fn zstd_decoder() -> Result<ZstdDecoder<'static>, DecodeError> {
    let mut decoder = ZstdDecoder::new().map_err(|_| DecodeError::Corrupt)?;
    decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_BITS)).map_err(|_| DecodeError::Corrupt)?;
    Ok(decoder)
}

fn gzip_step(state: &mut Decompress, input: &[u8], out: &mut [u8]) -> Result<Step, DecodeError> {
    let (before_in, before_out) = (state.total_in(), state.total_out());
    let status = state.decompress(input, out, FlushDecompress::None).map_err(|_| DecodeError::Corrupt)?;
    Ok(Step {
        read: (state.total_in() - before_in) as usize,
        written: (state.total_out() - before_out) as usize,
        ended: status == Status::StreamEnd,
    })
}

fn brotli_step(
    state: &mut BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    input: &[u8],
    out: &mut [u8],
) -> Result<Step, DecodeError> {
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
        state,
    );
    match result {
        BrotliResult::ResultFailure => Err(DecodeError::Corrupt),
        BrotliResult::ResultSuccess => Ok(Step { read, written, ended: true }),
        BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => {
            Ok(Step { read, written, ended: false })
        }
    }
}
