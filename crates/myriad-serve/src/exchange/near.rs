//! Whether a request comes from those who may administer the site.

use std::net::IpAddr;

use myriad_policy::is_forwarded;

use super::Request;
use crate::runtime::Network;

impl Request {
    /// Whether the request may administer, by `from` where it is written: that must cover the socket's peer, and where a
    /// proxy gave an address (`realip`, the PROXY protocol), that as well. Else those who are near may, loopback and the
    /// server's own addresses, unless the request was passed on: a tunnel, or a proxy on the same machine, looks like
    /// loopback.
    pub(crate) fn may_administer(&self, from: Option<&[Network]>) -> bool {
        let peer = self.connection.peer.ip().map(|ip| ip.to_canonical());
        if let Some(networks) = from {
            let covered = |ip: Option<IpAddr>| networks.iter().any(|network| network.0(ip));
            let given = self.real.or(self.connection.proxied.get().map(|header| header.source));
            return covered(peer) && given.is_none_or(|given| covered(Some(given.ip().to_canonical())));
        }
        let own = self.connection.local().map(|local| local.ip().to_canonical());
        let near = peer.is_none_or(|peer| peer.is_loopback() || own == Some(peer));
        let passed_on = self.connection.proxied.get().is_some()
            || self.real.is_some()
            || is_forwarded(self.head.fields());
        near && !passed_on
    }
}
