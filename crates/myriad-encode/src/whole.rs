//! Compression of whole bodies. Compressing a whole body is faster and denser than streaming.

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor};

use crate::{Coding, CompressionLevel, EncodeError, brotli_coding, zstd_coding};
#[cfg(test)]
use crate::{ContentDecodeError, StreamDecoder};

/// Encodes a whole body; identity copies it. Fails if the coding is not part of this build, or the encoder fails.
pub fn compress(coding: Coding, level: CompressionLevel, body: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let number = i32::from(level.number(coding));
    match coding {
        Coding::Identity => Ok(body.to_vec()),
        Coding::Gzip => gzip(number, body),
        Coding::Brotli => brotli_coding::compress(number, body),
        Coding::Zstd => zstd_coding::compress(number, body),
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

/// Decodes a whole body for tests. More than `max_len` output bytes are an error, for identity as well.
#[cfg(test)]
pub(crate) fn decompress(coding: Coding, body: &[u8], max_len: usize) -> Result<Vec<u8>, ContentDecodeError> {
    let mut out = Vec::new();
    let mut decoder = StreamDecoder::new(coding, max_len as u64)?;
    decoder.push(body, &mut out)?;
    decoder.finish()?;
    Ok(out)
}
