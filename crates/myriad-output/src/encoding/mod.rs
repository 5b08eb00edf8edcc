//! Selection of the content coding, and coding of responses that are not stored in it: `gzip*`, `brotli*`, `zstd*`.

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

/// Feature entry of `gzip*`, with the variables of codings.
pub const GZIP: Feature = Feature::new("encoding", directives::GZIP).with_variables(variables::VARIABLES);
/// Feature entry of `brotli*`.
pub const BROTLI: Feature = Feature::new("encoding", directives::BROTLI);
/// Feature entry of `zstd*`.
pub const ZSTD: Feature = Feature::new("encoding", directives::ZSTD);

#[cfg(test)]
mod tests;
