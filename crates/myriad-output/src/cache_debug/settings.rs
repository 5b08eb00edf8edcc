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

/// `cache_status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheStatusField {
    /// The name of this cache; empty for off.
    pub name: String,
    /// `hits=off`: nothing is said of what came from the cache.
    pub without_hits: bool,
}

myriad_conf::feature_settings!(CacheStatusField);
