//! What the directives say.

use myriad_conf::Text;

/// Name servers for names that are known only when a request comes. Times in ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NameServers {
    /// Addresses or names, each with or without a port (53); at least one.
    pub servers: Vec<Text>,
    /// `valid=`: how long an answer holds, whatever its TTL.
    pub valid: Option<u64>,
    /// `ipv4=`.
    pub ipv4: bool,
    /// `ipv6=`.
    pub ipv6: bool,
    /// `status_zone=`: what counts its look-ups.
    pub status_zone: Option<String>,
}

/// `resolver*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ResolverSettings {
    /// `resolver`; none where it is not written.
    pub name_servers: Option<NameServers>,
    /// `resolver_timeout`, ms.
    pub timeout: u64,
}

myriad_conf::feature_settings!(ResolverSettings);
