//! What the directives say.

use myriad_conf::Text;
use myriad_conf::settings::Network;
use myriad_exchange::runtime::RealIpSource;

/// A proxy that is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RealIpFrom {
    /// An address, a network, or unix sockets.
    Network(Network),
    /// A host, by whatever addresses it has when the configuration is loaded.
    Host(Text),
}

/// `set_real_ip_from`, `real_ip_header` and `real_ip_recursive` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RealIpSettings {
    /// `set_real_ip_from`; without one nobody is believed.
    pub from: Vec<RealIpFrom>,
    /// `real_ip_header`.
    pub source: RealIpSource,
    /// `real_ip_recursive`.
    pub recursive: bool,
}

myriad_conf::feature_settings!(RealIpSettings);
