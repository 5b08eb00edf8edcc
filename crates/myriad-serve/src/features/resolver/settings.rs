//! Settings of the directives.

use myriad_conf::Text;

/// Name servers for names that are known only at run time. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameServers {
    /// Addresses or names, each with an optional port (default 53); at least one.
    pub servers: Vec<Text>,
    /// `valid=`: lifetime of a response, independently of its TTL.
    pub valid: Option<u64>,
    /// `ipv4=`.
    pub ipv4: bool,
    /// `ipv6=`.
    pub ipv6: bool,
    /// `status_zone=`: zone that counts its lookups.
    pub status_zone: Option<String>,
}

/// `resolver*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResolverSettings {
    /// `resolver`; `None` if absent.
    pub name_servers: Option<NameServers>,
    /// `resolver_timeout`, in milliseconds.
    pub timeout: u64,
}

myriad_conf::feature_settings!(ResolverSettings);
