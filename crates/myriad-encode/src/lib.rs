//! Content codings: gzip, brotli and zstd, whole and streaming, and the background pool for the strong levels.
//!
//! A stored page is compressed whole ([`compress`]): at the fast level when it is stored, at the strong level later, by
//! the [`CompressionPool`]. A response that is not stored is encoded by a [`StreamEncoder`] or [`gzip_small`]. A response
//! compressed by an origin is decoded to identity by [`decompress`] or a [`StreamDecoder`], both with a limit against
//! decompression bombs.

mod coding;
mod error;
mod level;
mod pool;
mod small;
mod stream;
mod whole;

pub use coding::{Coding, CodingSet, coding_from_token};
pub use error::{ContentDecodeError, EncodeError};
pub use level::CompressionLevel;
pub use pool::{CompressionPool, PoolCounters, PoolOptions, SubmitResult};
pub use small::{SMALL_MAX, gzip_small};
pub use stream::{StreamDecoder, StreamEncoder};
pub use whole::{compress, decompress};
