//! Target of a request to an origin.

use std::sync::Arc;

use super::origin_group::OriginGroup;

/// Target of a request to an origin, or the name to be resolved first.
pub enum UpstreamTarget {
    /// Group of origins.
    Group(Arc<OriginGroup>),
    /// Host from a variable.
    Name {
        /// Name.
        name: String,
        /// Port.
        port: u16,
        /// Resolver of the name.
        resolver: ResolverPlace,
    },
}

/// `resolver`, for names of origins that are known only at run time.
#[derive(Clone, Copy)]
pub struct ResolverPlace {
    /// Index in [`super::Runtime::resolvers`].
    pub index: usize,
    /// `resolver_timeout`, in milliseconds.
    pub timeout_ms: u64,
}
