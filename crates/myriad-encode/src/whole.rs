//! Compression of a body that is in memory whole, which is cheaper and denser than streaming it.

use std::cell::RefCell;
use std::io::Write;

use libdeflater::{CompressionLvl, Compressor};

use crate::{Coding, DecodeError, EncodeError, Level, StreamDecoder};

/// Encodes `body` whole; identity copies it.
pub fn compress(coding: Coding, level: Level, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let number = i32::from(level.number(coding));
    match coding {
        Coding::Identity => Ok(body.to_vec()),
        Coding::Gzip => gzip(number, body),
        Coding::Brotli => brotli(number, body),
        Coding::Zstd => zstd::bulk::compress(body, number).map_err(|_| EncodeError::Library),
    }
}

thread_local! {
    /// The compressor that this thread used last, with its level: making one takes as long as a small page.
    static LAST: RefCell<Option<(i32, Compressor)>> = const { RefCell::new(None) };
}

fn gzip(level: i32, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let last = LAST.take();
    let mut compressor = match last {
        Some((known, compressor)) if known == level => compressor,
        _ => Compressor::new(CompressionLvl::new(level).map_err(|_| EncodeError::Library)?),
    };
    let mut out = vec![0; compressor.gzip_compress_bound(body.len())];
    let encoded = compressor.gzip_compress(body, &mut out);
    LAST.set(Some((level, compressor)));
    out.truncate(encoded.map_err(|_| EncodeError::Library)?);
    out.shrink_to_fit();
    Ok(out)
}

fn brotli(level: i32, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let params = brotli::enc::BrotliEncoderParams {
        quality: level,
        lgwin: window_bits(body.len()),
        size_hint: body.len(),
        ..Default::default()
    };
    let out = Vec::with_capacity(body.len() / 4 + 64);
    let mut writer = brotli::CompressorWriter::with_params(out, 16 << 10, &params);
    writer.write_all(body).map_err(|_| EncodeError::Library)?;
    let mut out = writer.into_inner();
    out.shrink_to_fit();
    Ok(out)
}

/// The brotli window (RFC 7932 §9.1): what holds the body, but never under 18 bits, for up to 16 the encoder changes to
/// a match finder that takes 20 ms where this one takes 1 (level 5, 40 KB) and finds less.
fn window_bits(len: usize) -> i32 {
    (len.max(1).ilog2() as i32 + 1).clamp(18, 22)
}

/// Decodes `body` whole, to at most `max_len` bytes; identity copies it, under the same limit.
pub fn decompress(coding: Coding, body: &[u8], max_len: usize) -> Result<Vec<u8>, DecodeError> {
    let mut out = Vec::new();
    let mut decoder = StreamDecoder::new(coding, max_len as u64)?;
    decoder.push(body, &mut out)?;
    decoder.finish()?;
    Ok(out)
}
