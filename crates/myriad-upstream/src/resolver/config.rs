//! Parameters of a `resolver` directive.

use std::net::SocketAddr;
use std::sync::Arc;

use super::zone::ResolverZone;

/// `resolver` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverConfig {
    /// Name servers, queried in turn; at least one.
    pub servers: Vec<SocketAddr>,
    /// Validity of a result in milliseconds, regardless of its TTL (`valid=`).
    pub valid_ms: Option<u64>,
    /// Resolves IPv4 addresses (`ipv4=`).
    pub ipv4: bool,
    /// Resolves IPv6 addresses (`ipv6=`).
    pub ipv6: bool,
    /// Counters of its queries (`status_zone=`); `None` if not configured.
    pub zone: Option<Arc<ResolverZone>>,
}
