//! Content codings gzip, brotli and zstd, for whole and streamed bodies, and a thread pool for compression in the
//! background.
//!
//! Stored pages are compressed as a whole ([`compress`]): at the fast level when they are stored, and at the strong
//! level later by the [`CompressionPool`]. Responses that are not stored are encoded by [`StreamEncoder`] or
//! [`gzip_small`]. Compressed responses of origins are decoded by [`decompress`] or [`StreamDecoder`], with a size
//! limit against decompression bombs.

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
