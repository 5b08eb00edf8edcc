//! Proxies that are believed about the client's address: nginx's realip module.

use super::Network;
use crate::text::Text;

/// A proxy that is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RealIpFrom {
    /// An address, a network, or unix sockets.
    Network(Network),
    /// A host, by whatever addresses it has when the configuration is loaded.
    Host(Text),
}

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

/// Settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RealIpSettings {
    /// `set_real_ip_from`; without one nobody is believed.
    pub from: Vec<RealIpFrom>,
    /// `real_ip_header`.
    pub source: RealIpSource,
    /// `real_ip_recursive`.
    pub recursive: bool,
}
