//! Settings of `set_real_ip_from`, `real_ip_header` and `real_ip_recursive`.

use myriad_conf::Text;
use myriad_conf::settings::Network;
use myriad_exchange::runtime::RealIpSource;

/// Argument of `set_real_ip_from`: a trusted proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RealIpFrom {
    /// Address, network, or all Unix sockets.
    Network(Network),
    /// Host name, resolved when the configuration is loaded.
    Host(Text),
}

/// `set_real_ip_from`, `real_ip_header` and `real_ip_recursive` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RealIpSettings {
    /// `set_real_ip_from`; if empty, no proxy is trusted.
    pub from: Vec<RealIpFrom>,
    /// `real_ip_header`: part of the request that contains the client address.
    pub source: RealIpSource,
    /// `real_ip_recursive`: if true, trusted addresses within the reported list are skipped.
    pub recursive: bool,
}

myriad_conf::feature_settings!(RealIpSettings);
