//! Content codings gzip, brotli and zstd, for whole and streamed bodies, and a thread pool for compression in the
//! background.
//!
//! Stored pages are compressed as a whole ([`compress`]): with gzip at a low level when they are stored, unless they
//! are long ([`first_gzip_level`]), and at the strong level later by the [`CompressionPool`]. Responses for a single
//! client, whose bodies are not stored or are still being received, are encoded by [`compress`], [`gzip_small`] or
//! [`StreamEncoder`]. [`StreamDecoder`] decodes compressed bodies, with a size limit that the caller sets.
//!
//! Brotli and zstd are Cargo features. Without them, `absent_coding` takes the place of their modules.

#![cfg_attr(
    not(feature = "zstd"),
    allow(
        clippy::large_enum_variant,
        clippy::match_same_arms,
        reason = "the types of absent_coding have no size, and both codings may have them"
    )
)]
#[cfg(not(all(feature = "brotli", feature = "zstd")))]
mod absent_coding;
#[cfg(feature = "brotli")]
mod brotli_coding;
mod coding;
mod error;
mod level;
mod pool;
mod small;
mod step;
mod stream;
mod whole;
#[cfg(feature = "zstd")]
mod zstd_coding;

#[cfg(not(feature = "brotli"))]
mod brotli_coding {
    pub(crate) use crate::absent_coding::{
        AbsentDecoder as BrotliDecoder, AbsentEncoder as BrotliEncoder, IS_COMPILED, compress,
    };
}
#[cfg(not(feature = "zstd"))]
mod zstd_coding {
    pub(crate) use crate::absent_coding::{
        AbsentDecoder as ZstdDecoder, AbsentEncoder as ZstdEncoder, IS_COMPILED, compress,
    };
}

pub use coding::{Coding, CodingSet, coding_from_token};
pub use error::{ContentDecodeError, EncodeError};
pub use level::{CompressionLevel, first_gzip_level};
pub use pool::{CompressionPool, PoolCounters, PoolOptions, SubmitResult};
pub use small::{SMALL_MAX, gzip_small};
pub use stream::{StreamDecoder, StreamEncoder};
pub use whole::compress;
#[cfg(test)]
pub(crate) use whole::decompress;
