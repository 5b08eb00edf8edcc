//! Virtual servers of a listening socket, by the address that clients connect to.

use std::net::{IpAddr, SocketAddr};

use myriad_net::Connection;
use myriad_script::ServerNames;

use super::ServerId;

/// Virtual servers for connections to one address and port.
pub struct Hosts {
    /// Default server, for hosts that match no `server_name`.
    pub default: ServerId,
    /// `server_name`s of the servers, by which the server of a host is found.
    pub names: ServerNames,
    /// True if connections start with the PROXY protocol (`listen … proxy_protocol`).
    pub proxy_protocol: bool,
    /// True if HTTP/2 is supported regardless of the servers' `http2` directives (`listen … http2`).
    pub http2: bool,
}

/// Virtual servers for the connections that one listening socket accepts.
#[derive(Default)]
pub struct ListenerHosts {
    /// True if clients use TLS (`listen … ssl`).
    pub secure: bool,
    /// True if clients use QUIC (`listen … quic`).
    pub quic: bool,
    /// Address of the socket in textual form, the same in every process.
    pub name: String,
    /// `quic_host_key` of the default server; `None` if it is not configured, or if clients do not use QUIC.
    pub quic_secret: Option<Box<[u8]>>,
    /// Servers of the address to which the socket is bound; `None` if only specific addresses have servers.
    bound: Option<Hosts>,
    /// Servers of specific addresses whose connections a wildcard socket accepts, too.
    specific: Vec<(IpAddr, Hosts)>,
}

impl ListenerHosts {
    /// Returns the servers of the specific address `ip`, or of the socket's own address if `None`. On the first call
    /// for an address, `first` becomes its default server.
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

    /// Returns the servers for a connection; `None` if its address has none. The kernel is queried for the local
    /// address only if necessary.
    pub fn hosts(&self, connection: &Connection) -> Option<&Hosts> {
        self.hosts_at(|| connection.local())
    }

    /// Returns the servers for the local address that `local` returns, which is called only if necessary; `None` if
    /// that address has none.
    pub fn hosts_at(&self, local: impl FnOnce() -> Option<SocketAddr>) -> Option<&Hosts> {
        if self.specific.is_empty() {
            return self.bound.as_ref();
        }
        let local = local().map(|local| local.ip().to_canonical());
        let specific = self.specific.iter().find(|(ip, _)| Some(ip.to_canonical()) == local);
        specific.map(|(_, hosts)| hosts).or(self.bound.as_ref())
    }

    /// Returns the default server of the address to which the socket is bound; if that has no servers, the default
    /// server of the first specific address. `None` if the listener has no servers.
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
