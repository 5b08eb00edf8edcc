//! Settings of the directive.

use myriad_conf::settings::Network;

/// `cache_debug`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheDebug {
    /// Set if responses contain the cache fields.
    pub on: bool,
    /// `from`: networks that may read keys. `None`: loopback and the server's addresses, for requests without a proxy.
    pub from: Option<Vec<Network>>,
}

myriad_conf::feature_settings!(CacheDebug);

/// `cache_status`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheStatusField {
    /// Name of this cache; empty for `off`.
    pub name: String,
    /// `hits=off`: no field for responses from the cache.
    pub without_hits: bool,
}

myriad_conf::feature_settings!(CacheStatusField);
