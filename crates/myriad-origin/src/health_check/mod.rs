//! Active health checks of servers in groups: `health_check` and `match`, as in NGINX Plus.
//!
//! A check sends a request to a single peer, with the fields, protocol and TLS settings of the location: a GET request,
//! or a call of the gRPC health checking protocol. The results are stored in the peer state of `myriad-upstream`, which
//! all workers share; a single worker runs the checks.

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

/// Feature entry for the list of features in `myriad-serve`.
pub const FEATURE: Feature = Feature::new("health_check", directives::ROWS).compiled_by(compile::compile);
