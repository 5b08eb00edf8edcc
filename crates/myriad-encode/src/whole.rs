//! Compression of a body that is completely in memory, which is cheaper and denser than streaming.

use std::cell::RefCell;
use std::io::Write;

use libdeflater::{CompressionLvl, Compressor};

use crate::{Coding, CompressionLevel, ContentDecodeError, EncodeError, StreamDecoder};

/// Encodes the whole `body`; identity copies it.
pub fn compress(coding: Coding, level: CompressionLevel, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let number = i32::from(level.number(coding));
    match coding {
        Coding::Identity => Ok(body.to_vec()),
        Coding::Gzip => gzip(number, body),
        Coding::Brotli => brotli(number, body),
        Coding::Zstd => zstd::bulk::compress(body, number).map_err(|_| EncodeError::Library),
    }
}

thread_local! {
    /// Last compressor used by this thread, with its level: creating a compressor costs the time of compressing a small
    /// page.
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

/// Returns the size of the brotli window (RFC 7932 §9.1) in bits: enough for the body, but at least 18. Up to 16 bits
/// the encoder uses a match finder that takes 20 ms instead of 1 ms (level 5, 40 KB) and finds less.
fn window_bits(len: usize) -> i32 {
    (len.max(1).ilog2() as i32 + 1).clamp(18, 22)
}

/// Decodes the whole `body` to at most `max_len` bytes; identity copies it, with the same limit.
pub fn decompress(coding: Coding, body: &[u8], max_len: usize) -> Result<Vec<u8>, ContentDecodeError> {
    let mut out = Vec::new();
    let mut decoder = StreamDecoder::new(coding, max_len as u64)?;
    decoder.push(body, &mut out)?;
    decoder.finish()?;
    Ok(out)
}
