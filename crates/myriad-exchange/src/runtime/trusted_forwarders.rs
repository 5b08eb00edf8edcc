//! Proxies that are trusted to report scheme and host of requests.

use std::net::IpAddr;

use super::Network;

/// Networks of proxies that are trusted to report the scheme (`forwarded_scheme_from`) and the host
/// (`forwarded_host_from`) of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedForwarders {
    /// Networks of proxies whose `X-Forwarded-Proto` determines the scheme of requests.
    pub scheme_from: Vec<Network>,
    /// Networks of proxies whose `X-Forwarded-Host` determines the host if `Host` matches no `server_name`.
    pub host_from: Vec<Network>,
}

impl TrustedForwarders {
    /// Returns true if the `X-Forwarded-Proto` of `sender` is trusted; `None` is a client on a Unix socket.
    pub fn trusts_scheme_of(&self, sender: Option<IpAddr>) -> bool {
        self.scheme_from.iter().any(|network| network.contains(sender))
    }

    /// Returns true if the `X-Forwarded-Host` of `sender` is trusted; `None` is a client on a Unix socket.
    pub fn trusts_host_of(&self, sender: Option<IpAddr>) -> bool {
        self.host_from.iter().any(|network| network.contains(sender))
    }
}
