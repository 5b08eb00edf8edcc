//! Who is asked for a request.

use std::sync::Arc;

use super::origin_group::OriginGroup;

/// Who is asked, or the name to look up first.
pub enum Who {
    /// A group.
    Group(Arc<OriginGroup>),
    /// A host that a variable named.
    Name {
        /// Its name.
        name: String,
        /// The port.
        port: u16,
        /// Where to look it up.
        resolver: ResolverPlace,
    },
}

/// `resolver`, where names of origins are known only when a request comes.
#[derive(Clone, Copy)]
pub struct ResolverPlace {
    /// Index in [`super::Runtime::resolvers`].
    pub index: usize,
    /// `resolver_timeout`.
    pub timeout_ms: u64,
}
