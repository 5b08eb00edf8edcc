//! Content codings: gzip, brotli and zstd, whole and streaming, and the background pool that makes the strong ones.
//!
//! A page that is stored is compressed once, whole ([`compress`]): at the fast level when it is stored, at the strong
//! level later, by the [`Pool`]. What is not stored passes through a [`StreamEncoder`], or [`gzip_small`]. What an origin compressed
//! itself is brought back to identity by [`decompress`] or a [`StreamDecoder`], both bounded against bombs.

mod coding;
mod error;
mod level;
mod pool;
mod small;
mod stream;
mod whole;

pub use coding::{Coding, CodingSet, coding_from_token};
pub use error::{DecodeError, EncodeError};
pub use level::Level;
pub use pool::{Pool, PoolCounters, PoolOptions, Submitted};
pub use small::{SMALL_MAX, gzip_small};
pub use stream::{StreamDecoder, StreamEncoder};
pub use whole::{compress, decompress};
