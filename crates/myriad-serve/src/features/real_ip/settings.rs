//! Settings of the directives.

use myriad_conf::Text;
use myriad_conf::settings::Network;
use myriad_exchange::runtime::RealIpSource;

/// Trusted proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RealIpFrom {
    /// Address, network, or Unix sockets.
    Network(Network),
    /// Host, with the addresses that it has when the configuration is loaded.
    Host(Text),
}

/// `set_real_ip_from`, `real_ip_header` and `real_ip_recursive` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RealIpSettings {
    /// `set_real_ip_from`; if empty, no proxy is trusted.
    pub from: Vec<RealIpFrom>,
    /// `real_ip_header`.
    pub source: RealIpSource,
    /// `real_ip_recursive`.
    pub recursive: bool,
}

myriad_conf::feature_settings!(RealIpSettings);
