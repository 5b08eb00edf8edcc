//! Model of `server` blocks: their addresses, names and locations.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{AcmeCertificateConf, LocationConf, RewriteStep};
use crate::{settings::Settings, span::Span, text::Text};

/// Address of a `listen` directive.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// IP address and port.
    Ip(SocketAddr),
    /// Host name (in lower case) that is resolved at start, and port.
    Host(String, u16),
    /// `unix:PATH`: path of the socket.
    Unix(Vec<u8>),
}

/// `so_keepalive`: TCP keep-alive probes; `None` leaves a value to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAliveProbe {
    /// True if probes are enabled, false for `off`.
    pub on: bool,
    /// Idle time before the first probe, in seconds; `None` for the value of the system.
    pub idle_s: Option<u32>,
    /// Time between probes, in seconds; `None` for the value of the system.
    pub interval_s: Option<u32>,
    /// Number of unanswered probes after which the connection is closed; `None` for the value of the system.
    pub count: Option<u32>,
}

/// One address of a `listen` directive. A port range results in one `ListenConf` per port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenConf {
    /// Address to listen on.
    pub address: ListenAddress,
    /// True if `default_server` (or the older `default`) is written: the server is used for unknown host names on this
    /// address. If no server of the address has it, the first one is used.
    pub default_server: bool,
    /// `ssl`: true if clients connect with TLS.
    pub ssl: bool,
    /// `http2`: true to enable HTTP/2 (deprecated; see the `http2` directive).
    pub http2: bool,
    /// `quic`: true for HTTP/3 over UDP instead of TCP connections.
    pub quic: bool,
    /// `udp`, only in `stream`: true for UDP instead of TCP connections.
    pub udp: bool,
    /// `proxy_protocol`: true if connections start with a PROXY protocol header.
    pub proxy_protocol: bool,
    /// `backlog=`: maximum length of the queue of connections to accept; `None` for the default, 4096.
    pub backlog: Option<u32>,
    /// `reuseport`: true if each worker has its own socket (`SO_REUSEPORT`), as always for UDP.
    pub reuseport: bool,
    /// `ipv6only=`: true if an IPv6 socket does not accept IPv4 connections; on by default, as in nginx.
    pub ipv6only: bool,
    /// `deferred`: true if written. Has no effect except a warning.
    pub deferred: bool,
    /// `bind`: true if written. Has no effect, except that only one `listen` of an address may have socket options.
    pub bind: bool,
    /// `fastopen=`: length of the TCP Fast Open queue as written; `None` if not set. Has no effect, apart from a
    /// warning.
    pub fastopen: Option<u32>,
    /// `rcvbuf=`: receive buffer of the socket in bytes (`SO_RCVBUF`); `None` for the system's default.
    pub rcvbuf: Option<u64>,
    /// `sndbuf=`: send buffer of the socket in bytes (`SO_SNDBUF`); `None` for the system's default.
    pub sndbuf: Option<u64>,
    /// `so_keepalive=`: TCP keep-alive probes; `None` if not set.
    pub so_keepalive: Option<KeepAliveProbe>,
    /// Position of the directive.
    pub span: Span,
}

impl ListenConf {
    /// Creates a `listen` with an address and nginx's defaults for all parameters.
    pub fn new(address: ListenAddress, span: Span) -> Self {
        Self {
            address,
            default_server: false,
            ssl: false,
            http2: false,
            quic: false,
            udp: false,
            proxy_protocol: false,
            backlog: None,
            reuseport: false,
            ipv6only: true,
            deferred: false,
            bind: false,
            fastopen: None,
            rcvbuf: None,
            sndbuf: None,
            so_keepalive: None,
            span,
        }
    }
}

impl ListenConf {
    /// Returns the name that identifies the socket across reloads and processes: `127.0.0.1:80`, `[::1]:80`,
    /// `unix:/run/site.sock`, `quic:127.0.0.1:443`, `udp:127.0.0.1:53`.
    pub fn socket_name(&self) -> String {
        self.name_at(&self.address)
    }

    fn name_at(&self, address: &ListenAddress) -> String {
        match address {
            ListenAddress::Ip(address) if self.quic => format!("quic:{address}"),
            ListenAddress::Ip(address) if self.udp => format!("udp:{address}"),
            ListenAddress::Ip(address) => address.to_string(),
            ListenAddress::Host(host, port) => format!("{host}:{port}"),
            ListenAddress::Unix(path) => format!("unix:{}", String::from_utf8_lossy(path)),
        }
    }

    /// Returns whether the socket of an IP address is a UDP socket (`quic` or `udp`) instead of a TCP socket.
    pub fn uses_udp(&self) -> bool {
        self.quic || self.udp
    }

    /// Returns whether two addresses use the same socket: both are IP addresses with the same transport, port and
    /// family, and they are equal or one is the wildcard address. The caller must reject this between `http` and
    /// `stream`, because a connection could then not be assigned to one of them.
    pub fn shares_socket(&self, other: &Self) -> bool {
        let (ListenAddress::Ip(here), ListenAddress::Ip(there)) = (&self.address, &other.address) else {
            return false;
        };
        self.uses_udp() == other.uses_udp()
            && here.port() == there.port()
            && here.is_ipv4() == there.is_ipv4()
            && (here.ip() == there.ip() || here.ip().is_unspecified() || there.ip().is_unspecified())
    }

    /// Returns the number of the socket that accepts connections for this address; `numbers` maps the names of sockets
    /// to their numbers. If only the socket of the wildcard address (`0.0.0.0` or `[::]`) with the same port and
    /// transport exists, also returns this IP address, by which connections of that socket are assigned to the server.
    /// `None` if there is neither socket.
    pub fn socket_among(&self, numbers: &HashMap<String, u32>) -> Option<(u32, Option<IpAddr>)> {
        if let Some(number) = numbers.get(&self.socket_name()) {
            return Some((*number, None));
        }
        let ListenAddress::Ip(specific) = &self.address else { return None };
        let any = match specific.ip() {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let wildcard = ListenAddress::Ip(SocketAddr::new(any, specific.port()));
        Some((*numbers.get(&self.name_at(&wildcard))?, Some(specific.ip())))
    }
}

/// Argument of `server_name`; host names are in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerName {
    /// Exact name; empty for `""`, which matches requests without `Host`.
    Exact(String),
    /// Name with a leading wildcard (`*.example.com`), stored as its suffix with the dot, `.example.com`.
    WildcardPrefix(String),
    /// Name with a leading dot (`.example.com`), which matches `example.com` and its subdomains; stored with the dot.
    Dot(String),
    /// Name with a trailing wildcard (`www.example.*`), stored as its prefix with the dot, `www.example.`.
    WildcardSuffix(String),
    /// `~regex`: regex of names, without the `~`; matched without regard to case.
    Regex(Text),
    /// `$hostname`: the name of the machine.
    Hostname,
}

/// `server` block.
#[derive(Clone, Debug)]
pub struct ServerConf {
    /// `listen` directives; empty if the server has none, which means `*:80`, or `*:8000` if the server is not started
    /// by root. In `stream`, an empty list is an error.
    pub listens: Vec<ListenConf>,
    /// `server_name`: names of the server; `""` if not set.
    pub names: Vec<ServerName>,
    /// First argument of `server_name` without a leading dot, in lower case unless it is a regex; for `$server_name`
    /// and redirects. Empty if not set.
    pub primary_name: Text,
    /// `acme_certificate`: certificate that is obtained by ACME; `None` if not set.
    pub acme: Option<AcmeCertificateConf>,
    /// Settings of the server itself, which locations inherit.
    pub settings: Settings,
    /// Rewrite directives of the server itself, in source order.
    pub rewrite: Vec<RewriteStep>,
    /// `location` blocks, in source order.
    pub locations: Vec<LocationConf>,
    /// Position of the `server` word.
    pub span: Span,
}
