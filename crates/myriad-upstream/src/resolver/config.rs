//! Parameters of a `resolver` directive.

use std::net::SocketAddr;
use std::sync::Arc;

use super::zone::ResolverZone;

/// Parameters of a `resolver` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverConfig {
    /// Addresses of the name servers, queried in turn; at least one.
    pub servers: Vec<SocketAddr>,
    /// Validity of a resolution result in milliseconds (`valid=`); `None` for the TTL of its records.
    pub valid_ms: Option<u64>,
    /// True to resolve IPv4 addresses (`ipv4=`).
    pub ipv4: bool,
    /// True to resolve IPv6 addresses (`ipv6=`).
    pub ipv6: bool,
    /// Counters of the queries (`status_zone=`); `None` if not configured.
    pub zone: Option<Arc<ResolverZone>>,
}
