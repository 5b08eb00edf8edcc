//! `server` blocks: addresses and names.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{AcmeCertificateConf, LocationConf, RewriteStep};
use crate::{settings::Settings, span::Span, text::Text};

/// The address where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// A literal address and port.
    Ip(SocketAddr),
    /// A host name to resolve at start, and a port.
    Host(String, u16),
    /// `unix:PATH`.
    Unix(Vec<u8>),
}

/// `so_keepalive`. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAliveProbe {
    /// `off` is `false`.
    pub on: bool,
    /// Idle time before the first probe.
    pub idle_s: Option<u32>,
    /// Between probes.
    pub interval_s: Option<u32>,
    /// Probes before giving up.
    pub count: Option<u32>,
}

/// One address of a `listen`; a port range gives several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenConf {
    /// Where.
    pub address: ListenAddress,
    /// `default_server` (or the older `default`).
    pub default_server: bool,
    /// `ssl`.
    pub ssl: bool,
    /// `http2`.
    pub http2: bool,
    /// `quic`: datagrams, not connections of TCP.
    pub quic: bool,
    /// `udp`, in `stream` alone: datagrams of any protocol.
    pub udp: bool,
    /// `proxy_protocol`.
    pub proxy_protocol: bool,
    /// `backlog=`.
    pub backlog: Option<u32>,
    /// `reuseport`.
    pub reuseport: bool,
    /// `ipv6only=`; nginx's default is on.
    pub ipv6only: bool,
    /// `deferred`.
    pub deferred: bool,
    /// `bind`.
    pub bind: bool,
    /// `fastopen=`.
    pub fastopen: Option<u32>,
    /// `rcvbuf=`, bytes.
    pub rcvbuf: Option<u64>,
    /// `sndbuf=`, bytes.
    pub sndbuf: Option<u64>,
    /// `so_keepalive=`.
    pub so_keepalive: Option<KeepAliveProbe>,
    /// The directive.
    pub span: Span,
}

impl ListenConf {
    /// A `listen` with an address and no parameter: nginx's defaults.
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
    /// How the socket is named, over reloads and between processes: `127.0.0.1:80`, `[::1]:80`, `unix:/run/site.sock`,
    /// `quic:127.0.0.1:443`, `udp:127.0.0.1:53`.
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

    /// Whether this address and another come to one socket: they have one port and family, and are one, or either is every address of
    /// the machine. Where only `http` or only `stream` has them that is well; else nobody could tell whose a connection is.
    pub fn shares_socket(&self, other: &Self) -> bool {
        let (ListenAddress::Ip(here), ListenAddress::Ip(there)) = (&self.address, &other.address) else {
            return false;
        };
        let by_datagrams = |listen: &Self| listen.quic || listen.udp;
        by_datagrams(self) == by_datagrams(other)
            && here.port() == there.port()
            && here.is_ipv4() == there.is_ipv4()
            && (here.ip() == there.ip() || here.ip().is_unspecified() || there.ip().is_unspecified())
    }

    /// The number of the socket that accepts for the address, of those that are numbered by their names. An address that shares its
    /// port with a wildcard has no socket of its own: its servers are found by the connection's local address, which is given then.
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

/// One word of `server_name`, host parts in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ServerName {
    /// A name; empty for `""`, requests without `Host`.
    Exact(String),
    /// `*.example.com`: the suffix with its dot, `.example.com`.
    WildcardPrefix(String),
    /// `.example.com`: the suffix with its dot; matches the bare name too.
    Dot(String),
    /// `www.example.*`: the prefix with its dot, `www.example.`.
    WildcardSuffix(String),
    /// `~regex`, without the `~`; caseless where it holds an upper-case letter, as nginx has it.
    Regex(Text),
    /// `$hostname`: the machine's name.
    Hostname,
}

/// A `server` block.
#[derive(Clone, Debug)]
pub struct ServerConf {
    /// `listen`; `*:80` (or `*:8000` where it may not bind 80) when none is written: then empty.
    pub listens: Vec<ListenConf>,
    /// `server_name`; `""` when none is written.
    pub names: Vec<ServerName>,
    /// The first `server_name` as written, for `$server_name` and redirects; empty if none.
    pub primary_name: Text,
    /// `acme_certificate`.
    pub acme: Option<AcmeCertificateConf>,
    /// What holds where no location does.
    pub settings: Settings,
    /// The rewrite directives of the server itself, in source order.
    pub rewrite: Vec<RewriteStep>,
    /// `location` blocks, in source order.
    pub locations: Vec<LocationConf>,
    /// The `server` word.
    pub span: Span,
}
