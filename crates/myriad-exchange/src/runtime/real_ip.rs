//! Who is believed about the client's address, compiled.

use myriad_conf::settings::RealIpSource;

use super::Network;

/// `set_real_ip_from`, `real_ip_header`, `real_ip_recursive` of a place where somebody is believed.
pub struct RealIp {
    /// Who is believed.
    pub from: Vec<Network>,
    /// Where the address stands.
    pub source: RealIpSource,
    /// Whether trusted addresses in the list are passed over.
    pub recursive: bool,
}
