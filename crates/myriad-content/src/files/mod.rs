//! Content that this server has itself: files. How they are looked for: `open_file_cache*`, `disable_symlinks`, `gzip_static` and its
//! like.

mod compile;
mod directives;
mod precompressed;
mod settings;
mod static_file;
#[cfg(test)]
mod tests;

pub use compile::{precompressed, symlinks, trusted_part, validity};
use myriad_exchange::feature::Feature;
pub use static_file::FileHandler;
pub(crate) use static_file::method_not_allowed;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("content", directives::ROWS);
/// `gzip_static`, for the list of features.
pub const GZIP_STATIC: Feature = Feature::new("encoding", directives::GZIP_STATIC);
/// `brotli_static`, for the list of features.
pub const BROTLI_STATIC: Feature = Feature::new("encoding", directives::BROTLI_STATIC);
/// `zstd_static`, for the list of features.
pub const ZSTD_STATIC: Feature = Feature::new("encoding", directives::ZSTD_STATIC);
