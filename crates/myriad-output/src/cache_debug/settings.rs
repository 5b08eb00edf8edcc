//! Settings of `cache_debug` and `cache_status`.

use myriad_conf::settings::Network;

/// Setting of `cache_debug` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheDebug {
    /// True for `on`: responses contain `X-Cache` and `X-Cache-Age`.
    pub on: bool,
    /// `from`: networks of the clients that may request the cache key. `None`: Unix sockets, loopback and the server's
    /// own addresses, for requests without a proxy.
    pub from: Option<Vec<Network>>,
}

myriad_conf::feature_settings!(CacheDebug);

/// Setting of `cache_status` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheStatusField {
    /// Name by which `Cache-Status` calls this cache; empty for `off`.
    pub name: String,
    /// `hits=off`: true if responses from the cache do not have the field `Cache-Status`.
    pub without_hits: bool,
}

myriad_conf::feature_settings!(CacheStatusField);
