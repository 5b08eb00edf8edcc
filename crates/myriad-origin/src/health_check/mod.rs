//! Servers of groups asked how they are, beside the requests of visitors: `health_check` and `match`, as in NGINX Plus.
//!
//! A check is a request that the location makes as for a visitor, with its fields, its protocol and its TLS, and that one peer alone is
//! asked: by GET, or a call of gRPC's health checking protocol. Whether a peer may be chosen is kept with it in `myriad-upstream`, for all workers; one worker asks.

mod compile;
mod directives;
mod grpc;
mod judge;
mod probe;
mod settings;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

pub use probe::begin;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("health_check", directives::ROWS).compiled_by(compile::compile);
