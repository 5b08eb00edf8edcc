//! Servers of a listening socket, by the address that the client connected to.

use std::net::{IpAddr, SocketAddr};

use myriad_net::Connection;
use myriad_script::ServerNames;

use super::ServerId;

/// Servers of one address.
pub struct Hosts {
    /// Server for hosts that match no name.
    pub default: ServerId,
    /// Names of the servers.
    pub names: ServerNames,
    /// True if connections start with the PROXY protocol (`listen … proxy_protocol`).
    pub proxy_protocol: bool,
    /// True if HTTP/2 is supported independently of the servers' settings (`listen … http2`).
    pub http2: bool,
}

/// Servers of one listening socket.
#[derive(Default)]
pub struct ListenerHosts {
    /// True if clients use TLS (`listen … ssl`).
    pub secure: bool,
    /// True if clients use QUIC (`listen … quic`).
    pub quic: bool,
    /// Name of the socket's address. It is the same in every process.
    pub name: String,
    /// `quic_host_key` of its default server.
    pub quic_secret: Option<Box<[u8]>>,
    /// Servers of the address to which the socket is bound, if any.
    bound: Option<Hosts>,
    /// Servers of single addresses for which a wildcard socket also accepts connections.
    specific: Vec<(IpAddr, Hosts)>,
}

impl ListenerHosts {
    /// Returns the servers of an address, or of the socket's address for `None`. If there were none yet, `first`
    /// becomes the default server.
    pub fn at(&mut self, ip: Option<IpAddr>, first: ServerId) -> &mut Hosts {
        let fresh =
            || Hosts { default: first, names: ServerNames::default(), proxy_protocol: false, http2: false };
        let Some(ip) = ip else { return self.bound.get_or_insert_with(fresh) };
        let at = self.specific.iter().position(|(known, _)| *known == ip).unwrap_or_else(|| {
            self.specific.push((ip, fresh()));
            self.specific.len() - 1
        });
        &mut self.specific[at].1
    }

    /// Returns the servers of a connection. The kernel is queried for its local address only if necessary.
    pub fn hosts(&self, connection: &Connection) -> Option<&Hosts> {
        self.hosts_at(|| connection.local())
    }

    /// Returns the servers of a local address, which is determined only if necessary.
    pub fn hosts_at(&self, local: impl FnOnce() -> Option<SocketAddr>) -> Option<&Hosts> {
        if self.specific.is_empty() {
            return self.bound.as_ref();
        }
        let local = local().map(|local| local.ip().to_canonical());
        let specific = self.specific.iter().find(|(ip, _)| Some(ip.to_canonical()) == local);
        specific.map(|(_, hosts)| hosts).or(self.bound.as_ref())
    }

    /// Returns the server for clients that name no host, at the socket's address or otherwise at any address.
    pub fn first(&self) -> Option<ServerId> {
        self.bound.as_ref().or(self.specific.first().map(|(_, hosts)| hosts)).map(|hosts| hosts.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_server_of_an_address_is_its_default() {
        let mut listener = ListenerHosts::default();
        let local = Some("127.0.0.1".parse().unwrap());
        listener.at(None, 3);
        listener.at(local, 4);
        assert_eq!(listener.at(local, 5).default, 4);
        assert_eq!(listener.at(None, 6).default, 3);
        assert_eq!(listener.specific.len(), 1);
    }
}
