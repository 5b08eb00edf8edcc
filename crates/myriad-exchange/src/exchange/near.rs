//! Access check of administrative requests.

use std::fmt;
use std::net::IpAddr;

use myriad_policy::is_forwarded;

use super::Request;
use crate::runtime::Network;

/// Reason why a request has no administrative access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// `from` does not contain the address of the socket's peer.
    NotAmong,
    /// `from` does not contain the client address reported by a proxy.
    GivenNotAmong,
    /// The request comes from another machine.
    Far,
    /// The request was forwarded by a proxy.
    PassedOn,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAmong => "\"from\" does not contain its address",
            Self::GivenNotAmong => "\"from\" does not contain the client address that a proxy sent",
            Self::Far => "its address is neither loopback nor an address of this server",
            Self::PassedOn => "a proxy forwarded it, so its origin is unknown",
        })
    }
}

impl Request {
    /// Checks whether the request has administrative access. With `from`, the networks must contain the socket's peer
    /// and, if a proxy reported a client address (`realip`, the PROXY protocol), also this address. Without `from`,
    /// loopback and the server's own addresses have access, unless the request was forwarded: a tunnel or a proxy on
    /// the same machine looks like loopback.
    pub fn may_administer(&self, from: Option<&[Network]>) -> Result<(), Stranger> {
        let peer = self.received.connection.peer.ip().map(|ip| ip.to_canonical());
        if let Some(networks) = from {
            let covered = |ip: Option<IpAddr>| networks.iter().any(|network| network.contains(ip));
            let given =
                self.received.real.or(self.received.connection.proxied.get().map(|header| header.source));
            return match given {
                _ if !covered(peer) => Err(Stranger::NotAmong),
                Some(given) if !covered(Some(given.ip().to_canonical())) => Err(Stranger::GivenNotAmong),
                _ => Ok(()),
            };
        }
        let own = self.received.connection.local().map(|local| local.ip().to_canonical());
        if peer.is_some_and(|peer| !peer.is_loopback() && own != Some(peer)) {
            return Err(Stranger::Far);
        }
        let passed_on = self.received.connection.proxied.get().is_some()
            || self.received.real.is_some()
            || is_forwarded(self.received.head.fields());
        if passed_on { Err(Stranger::PassedOn) } else { Ok(()) }
    }
}
