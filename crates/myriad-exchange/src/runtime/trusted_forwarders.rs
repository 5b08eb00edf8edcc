//! Proxies that are trusted to report the scheme and the host of a request, compiled.

use std::net::IpAddr;

use super::Network;

/// `forwarded_scheme_from`, `forwarded_host_from`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedForwarders {
    /// Senders whose `X-Forwarded-Proto` is the scheme of the request.
    pub scheme_from: Vec<Network>,
    /// Senders whose `X-Forwarded-Host` is the host of the request if `Host` matches no `server_name`.
    pub host_from: Vec<Network>,
}

impl TrustedForwarders {
    /// Returns whether a sender's `X-Forwarded-Proto` is trusted; `None` is a sender on a Unix socket.
    pub fn trusts_scheme_of(&self, sender: Option<IpAddr>) -> bool {
        self.scheme_from.iter().any(|network| network.contains(sender))
    }

    /// Returns whether a sender's `X-Forwarded-Host` is trusted; `None` is a sender on a Unix socket.
    pub fn trusts_host_of(&self, sender: Option<IpAddr>) -> bool {
        self.host_from.iter().any(|network| network.contains(sender))
    }
}
