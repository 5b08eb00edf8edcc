//! Who is believed about the client's address, compiled.

use super::Network;

/// The place where the client's address stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RealIpSource {
    /// In `X-Forwarded-For`: a list.
    #[default]
    ForwardedFor,
    /// In the PROXY protocol's header.
    ProxyProtocol,
    /// In a field of this name.
    Field(String),
}

/// `set_real_ip_from`, `real_ip_header`, `real_ip_recursive` of a place where somebody is believed.
pub struct RealIp {
    /// Who is believed.
    pub from: Vec<Network>,
    /// Where the address stands.
    pub source: RealIpSource,
    /// Whether trusted addresses in the list are passed over.
    pub recursive: bool,
}
