//! The servers behind one listening socket, by the address that the client connected to.

use std::net::{IpAddr, SocketAddr};

use myriad_net::Connection;
use myriad_script::ServerNames;

use super::ServerId;

/// The servers of one address.
pub struct Hosts {
    /// The server for hosts that no name covers.
    pub default: ServerId,
    /// The names.
    pub names: ServerNames,
    /// Whether clients are announced by the PROXY protocol (`listen … proxy_protocol`).
    pub proxy_protocol: bool,
    /// Whether HTTP/2 is spoken whatever the servers say (`listen … http2`).
    pub http2: bool,
}

/// The servers behind one listening socket.
#[derive(Default)]
pub struct Listener {
    /// Its clients speak TLS (`listen … ssl`).
    pub secure: bool,
    /// Its clients speak QUIC (`listen … quic`).
    pub quic: bool,
    /// The name of its socket's address, the same in every process.
    pub name: String,
    /// The `quic_host_key` of its default server.
    pub quic_secret: Option<Box<[u8]>>,
    /// Those of the address that the socket is bound to; there are some, else there were no socket.
    bound: Option<Hosts>,
    /// Those of single addresses that a wildcard socket accepts for too.
    specific: Vec<(IpAddr, Hosts)>,
}

impl Listener {
    /// The servers of an address, none for the socket's own; `first` becomes the default where there were none yet.
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

    /// The servers that a connection may mean. The kernel is asked for its local address only where that matters.
    pub fn hosts(&self, connection: &Connection) -> Option<&Hosts> {
        self.hosts_at(|| connection.local())
    }

    /// The servers of an address, which is asked for only where it matters.
    pub fn hosts_at(&self, local: impl FnOnce() -> Option<SocketAddr>) -> Option<&Hosts> {
        if self.specific.is_empty() {
            return self.bound.as_ref();
        }
        let local = local().map(|local| local.ip().to_canonical());
        let specific = self.specific.iter().find(|(ip, _)| Some(ip.to_canonical()) == local);
        specific.map(|(_, hosts)| hosts).or(self.bound.as_ref())
    }

    /// The server for clients that name none, at the socket's own address or else at any.
    pub fn first(&self) -> Option<ServerId> {
        self.bound.as_ref().or(self.specific.first().map(|(_, hosts)| hosts)).map(|hosts| hosts.default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_server_of_an_address_is_its_default() {
        let mut listener = Listener::default();
        let local = Some("127.0.0.1".parse().unwrap());
        listener.at(None, 3);
        listener.at(local, 4);
        assert_eq!(listener.at(local, 5).default, 4);
        assert_eq!(listener.at(None, 6).default, 3);
        assert_eq!(listener.specific.len(), 1);
    }
}
