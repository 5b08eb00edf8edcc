//! Static files: `open_file_cache*`, `disable_symlinks`, `gzip_static` and similar directives.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings`, `compile` | directives, their settings and their compilation |
//! | `static_file` | content handler |
//! | `precompressed` | lookup of precompressed files |

mod compile;
mod directives;
mod precompressed;
mod settings;
mod static_file;
pub use compile::{precompressed, symlinks, trusted_part, validity};
use myriad_exchange::feature::Feature;
pub use static_file::FileHandler;
#[cfg(feature = "dav")]
pub(crate) use static_file::method_not_allowed;

/// Registration of the directives for static files, except those for precompressed files.
pub const FEATURE: Feature = Feature::new("content", directives::ROWS);
/// Registration of `gzip_static`.
pub const GZIP_STATIC: Feature = Feature::new("encoding", directives::GZIP_STATIC);
/// Registration of `brotli_static`.
pub const BROTLI_STATIC: Feature = Feature::new("encoding", directives::BROTLI_STATIC);
/// Registration of `zstd_static`.
pub const ZSTD_STATIC: Feature = Feature::new("encoding", directives::ZSTD_STATIC);
