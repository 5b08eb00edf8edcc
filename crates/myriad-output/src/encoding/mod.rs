//! Content codings (`gzip*`, `brotli*`, `zstd*`): selection of the coding, and compression of responses that are not
//! stored in it.
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings`, `compile` | directives, their settings and their compilation |
//! | `choice` | codings in which a response may be sent |
//! | `eligibility`, `gzip_proxied` | requests that may receive compressed responses |
//! | `compression` | compression for a single client |
//! | `variables` | `$gzip_ratio` and similar variables |

mod choice;
mod compile;
mod compression;
mod directives;
mod eligibility;
mod gzip_proxied;
mod settings;
mod variables;

pub use choice::{Encodings, accepted, encodings, is_compressed};
pub use compile::offer;
pub(super) use compression::encode;
pub(super) use gzip_proxied::proxied_facts;
use myriad_exchange::feature::Feature;

/// Registration of `gzip*` and `$gzip_ratio`.
pub const GZIP: Feature = Feature::new("encoding", directives::GZIP).with_variables(variables::GZIP);
/// Registration of `brotli*` and `$brotli_ratio`.
pub const BROTLI: Feature = Feature::new("encoding", directives::BROTLI).with_variables(variables::BROTLI);
/// Registration of `zstd*` and `$zstd_ratio`.
pub const ZSTD: Feature = Feature::new("encoding", directives::ZSTD).with_variables(variables::ZSTD);

#[cfg(test)]
mod tests;
