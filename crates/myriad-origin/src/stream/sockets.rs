//! Listening sockets that `pass` can find by address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use myriad_conf::Model;
use myriad_upstream::PeerAddress;

/// Listening socket to which connections can be passed (`pass`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassTarget {
    /// Number of the listening socket.
    pub number: u32,
    /// True if the socket has the parameter `ssl`.
    pub secure: bool,
    /// True if the socket has the parameter `proxy_protocol`.
    pub proxy_protocol: bool,
}

/// TCP and unix sockets of a configuration, by socket name.
#[derive(Debug, Default)]
pub(crate) struct PassTargets(HashMap<String, PassTarget>);

impl PassTargets {
    /// Collects the listening sockets of a configuration, except UDP and QUIC sockets and those without a number.
    /// `numbers` maps socket names to socket numbers.
    pub(crate) fn from_model(model: &Model, numbers: &HashMap<String, u32>) -> Self {
        let mut sockets: HashMap<String, PassTarget> = HashMap::new();
        for listen in
            model.servers().flat_map(|server| &server.listens).filter(|listen| !listen.quic && !listen.udp)
        {
            let name = listen.socket_name();
            let Some(number) = numbers.get(&name) else { continue };
            let socket = PassTarget { number: *number, secure: false, proxy_protocol: false };
            let socket = sockets.entry(name).or_insert(socket);
            socket.secure |= listen.ssl;
            socket.proxy_protocol |= listen.proxy_protocol;
        }
        Self(sockets)
    }

    /// Returns the socket for an address, by nginx's rule: the socket bound to exactly this address; if there is none,
    /// for TCP the socket bound to the wildcard address and the same port. `None` if there is none.
    pub(crate) fn find(&self, address: &PeerAddress) -> Option<PassTarget> {
        let at = |name: &str| self.0.get(name).copied();
        match address {
            PeerAddress::Unix(path) => at(&format!("unix:{}", path.display())),
            PeerAddress::Tcp(address) => at(&address.to_string()).or_else(|| {
                let any = match address.ip() {
                    IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                    IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
                };
                at(&SocketAddr::new(any, address.port()).to_string())
            }),
        }
    }
}
