//! Compression and decompression of whole bodies. Compressing a whole body is faster and denser than streaming.

use std::cell::RefCell;
use std::io::Write;

use libdeflater::{CompressionLvl, Compressor};

use crate::{Coding, CompressionLevel, ContentDecodeError, EncodeError, StreamDecoder};

/// Encodes a whole body. Identity copies it.
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
    /// Last gzip compressor used by this thread, with its level. Creating one takes as long as compressing a small
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

/// Returns the brotli window in bits (RFC 7932 §9.1): enough for the body, from 18 to 22. With 16 bits or fewer, the
/// encoder uses a match finder that takes 20 ms instead of 1 ms (level 5, 40 KB) and finds fewer matches.
fn window_bits(len: usize) -> i32 {
    (len.max(1).ilog2() as i32 + 1).clamp(18, 22)
}

/// Decodes a whole body. More than `max_len` output bytes are an error, for identity as well.
pub fn decompress(coding: Coding, body: &[u8], max_len: usize) -> Result<Vec<u8>, ContentDecodeError> {
    let mut out = Vec::new();
    let mut decoder = StreamDecoder::new(coding, max_len as u64)?;
    decoder.push(body, &mut out)?;
    decoder.finish()?;
    Ok(out)
}
