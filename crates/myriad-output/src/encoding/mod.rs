//! Selection of the content coding, and coding of responses that are not stored in it: `gzip*`, `brotli*`, `zstd*`.

mod choice;
mod compile;
mod directives;
mod offered;
mod on_the_way;
mod proxied;
mod settings;
mod variables;

pub use choice::{Encodings, accepted, encodings, is_compressed};
pub use compile::offer;
use myriad_exchange::feature::Feature;
pub(super) use on_the_way::encode;
pub(super) use proxied::proxied_facts;

/// Feature entry of `gzip*`, with the variables of codings.
pub const GZIP: Feature = Feature::new("encoding", directives::GZIP).with_variables(variables::VARIABLES);
/// Feature entry of `brotli*`.
pub const BROTLI: Feature = Feature::new("encoding", directives::BROTLI);
/// Feature entry of `zstd*`.
pub const ZSTD: Feature = Feature::new("encoding", directives::ZSTD);

#[cfg(test)]
mod tests;
