//! What the directive says.

use myriad_conf::settings::Network;

/// `cache_debug`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheDebug {
    /// Whether answers say what the cache did.
    pub on: bool,
    /// `from`: who may see keys. None: loopback and the server's own addresses, by requests that nobody passed on.
    pub from: Option<Vec<Network>>,
}

myriad_conf::feature_settings!(CacheDebug);
