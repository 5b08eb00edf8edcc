//! Origin of a request whose target contains variables.

use std::sync::Arc;

use super::origin_group::OriginGroup;

/// Origin of a request whose target contains variables.
pub enum UpstreamTarget {
    /// Group of origins (`upstream`), or a single address, which needs no resolution.
    Group(Arc<OriginGroup>),
    /// Host name, which must be resolved first.
    Name {
        /// Host name to resolve.
        name: String,
        /// Port of the origin.
        port: u16,
        /// Resolver for the name.
        resolver: ResolverPlace,
    },
}

/// Resolver settings of a location, for host names that are known only at run time.
#[derive(Clone, Copy)]
pub struct ResolverPlace {
    /// Index in [`super::Runtime::resolvers`].
    pub index: usize,
    /// `resolver_timeout`: maximum time for resolving a name, in milliseconds.
    pub timeout_ms: u64,
}
