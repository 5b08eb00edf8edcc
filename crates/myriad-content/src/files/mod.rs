//! Files, and their lookup: `open_file_cache*`, `disable_symlinks`, `gzip_static` and similar directives.

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
#[cfg(feature = "dav")]
pub(crate) use static_file::method_not_allowed;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("content", directives::ROWS);
/// Feature entry of `gzip_static`.
pub const GZIP_STATIC: Feature = Feature::new("encoding", directives::GZIP_STATIC);
/// Feature entry of `brotli_static`.
pub const BROTLI_STATIC: Feature = Feature::new("encoding", directives::BROTLI_STATIC);
/// Feature entry of `zstd_static`.
pub const ZSTD_STATIC: Feature = Feature::new("encoding", directives::ZSTD_STATIC);
