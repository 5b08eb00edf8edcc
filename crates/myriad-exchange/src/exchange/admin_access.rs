//! Check of requests for administration, such as purges, status and control pages.

use std::fmt;
use std::net::IpAddr;

use myriad_policy::is_forwarded;

use super::Request;
use crate::runtime::Network;

/// Reason why a request may not administer this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminDenied {
    /// The networks that the configuration allows (`from`) do not contain the address of the connection's peer.
    NotInAllowList,
    /// The networks that the configuration allows (`from`) do not contain the client address that a proxy reported.
    ForwardedNotInAllowList,
    /// Without configured networks: the client's address is neither loopback nor the address that it connected to.
    NotLocal,
    /// Without configured networks: the request was forwarded by a proxy, so the address of the client that sent it is
    /// not trusted.
    Proxied,
}

impl fmt::Display for AdminDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInAllowList => "\"from\" does not contain its address",
            Self::ForwardedNotInAllowList => "\"from\" does not contain the client address that a proxy sent",
            Self::NotLocal => "its address is neither loopback nor the address that it connected to",
            Self::Proxied => "a proxy forwarded it, so its origin is unknown",
        })
    }
}

impl Request {
    /// Returns an error if the request may not administer this server. `from` contains the allowed networks. With
    /// `from`, its networks must contain the address of the connection's peer and, if a proxy reported a client address
    /// (`realip`, PROXY protocol), that address too. Without `from`, clients on a Unix socket, on loopback, or with the
    /// address that they connected to are allowed, unless the request was forwarded: a tunnel or proxy on the same
    /// machine looks like loopback.
    pub fn may_administer(&self, from: Option<&[Network]>) -> Result<(), AdminDenied> {
        let peer = self.received.connection.peer.ip().map(|ip| ip.to_canonical());
        if let Some(networks) = from {
            let covered = |ip: Option<IpAddr>| networks.iter().any(|network| network.contains(ip));
            let given =
                self.received.real.or(self.received.connection.proxied.get().map(|header| header.source));
            return match given {
                _ if !covered(peer) => Err(AdminDenied::NotInAllowList),
                Some(given) if !covered(Some(given.ip().to_canonical())) => {
                    Err(AdminDenied::ForwardedNotInAllowList)
                }
                _ => Ok(()),
            };
        }
        let own = self.received.connection.local().map(|local| local.ip().to_canonical());
        if peer.is_some_and(|peer| !peer.is_loopback() && own != Some(peer)) {
            return Err(AdminDenied::NotLocal);
        }
        let passed_on = self.received.connection.proxied.get().is_some()
            || self.received.real.is_some()
            || is_forwarded(self.received.head.fields());
        if passed_on { Err(AdminDenied::Proxied) } else { Ok(()) }
    }
}
