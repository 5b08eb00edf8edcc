//! Active health checks of servers in groups: `health_check` and `match`, as in NGINX Plus.
//!
//! A check is a request with the fields, protocol and TLS settings of the location, sent to a single peer: a GET
//! request, or a call of gRPC's health checking protocol. The health of a peer is stored in `myriad-upstream` for all
//! workers; a single worker runs the checks.

mod compile;
mod conditions;
mod directives;
mod grpc;
mod probe;
mod settings;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

pub use probe::begin;

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("health_check", directives::ROWS).compiled_by(compile::compile);
