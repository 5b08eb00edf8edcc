//! What a `resolver` directive says.

use std::net::SocketAddr;
use std::sync::Arc;

use super::zone::ResolverZone;

/// A `resolver` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolverConfig {
    /// Name servers; asked in turn. At least one.
    pub servers: Vec<SocketAddr>,
    /// How long an answer holds, milliseconds, whatever its TTL (`valid=`).
    pub valid_ms: Option<u64>,
    /// Whether IPv4 addresses are looked up (`ipv4=`).
    pub ipv4: bool,
    /// Whether IPv6 addresses are looked up (`ipv6=`).
    pub ipv6: bool,
    /// What counts its look-ups (`status_zone=`); none where nothing is written.
    pub zone: Option<Arc<ResolverZone>>,
}
