//! Settings of `resolver` and `resolver_timeout`.

use myriad_conf::Text;

/// Parameters of `resolver`. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameServers {
    /// DNS servers: addresses or names, each with an optional port (default 53); at least one.
    pub servers: Vec<Text>,
    /// `valid=`: lifetime of a cached response; `None` to use its TTL.
    pub valid: Option<u64>,
    /// `ipv4=`: true if IPv4 addresses are looked up.
    pub ipv4: bool,
    /// `ipv6=`: true if IPv6 addresses are looked up.
    pub ipv6: bool,
    /// `status_zone=`: name of the zone that counts lookups; `None` without it.
    pub status_zone: Option<String>,
}

/// `resolver` and `resolver_timeout` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResolverSettings {
    /// `resolver`: name servers; `None` if the directive is not set.
    pub name_servers: Option<NameServers>,
    /// `resolver_timeout`: maximum duration of a name resolution, in milliseconds.
    pub timeout: u64,
}

myriad_conf::feature_settings!(ResolverSettings);
