//! Myriad's own cache rules.

use super::Network;

/// `cache_debug`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheDebug {
    /// Whether answers say what the cache did.
    pub on: bool,
    /// `from`: who may see keys. None: loopback and the server's own addresses, by requests that nobody passed on.
    pub from: Option<Vec<Network>>,
}

/// Myriad's own cache directives, the same for every protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CacheRules {
    /// `cache_debug`.
    pub debug: CacheDebug,
}
