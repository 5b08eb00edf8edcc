//! Proxies that are trusted to report the client's address, compiled.

use super::Network;

/// Source of the client's address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RealIpSource {
    /// `X-Forwarded-For`, a list.
    #[default]
    ForwardedFor,
    /// PROXY protocol header.
    ProxyProtocol,
    /// Field with this name.
    Field(String),
}

/// `set_real_ip_from`, `real_ip_header`, `real_ip_recursive` of a place with trusted proxies.
pub struct RealIp {
    /// Trusted proxies.
    pub from: Vec<Network>,
    /// Source of the address.
    pub source: RealIpSource,
    /// True if trusted addresses in the list are skipped.
    pub recursive: bool,
}
