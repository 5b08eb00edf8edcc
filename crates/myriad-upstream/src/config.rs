//! How a group is configured: its peers, how one is chosen, how connections are kept, how long requests wait.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use crate::address::{Address, AddressError};
use crate::resolver::{ResolverConfig, message as dns};
use myriad_conf::model::{Balance, UpstreamAddress, UpstreamConf, UpstreamQueue, UpstreamServer};
use myriad_conf::registry::Registry;
use myriad_conf::{Diagnostic, Span};

/// The configuration of a [`crate::Group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// The name: of the `upstream` block, or the address where there is none. Health is kept under it.
    pub name: String,
    /// The peers in the order of the file.
    pub peers: Vec<PeerConfig>,
    /// How to choose among them.
    pub balance: Balance,
    /// How to keep connections.
    pub keepalive: KeepAlive,
    /// The queue in which requests wait for a peer (`queue`); `None` answers at once that there is none.
    pub queue: Option<UpstreamQueue>,
    /// Whether requests may ask for a peer (`sticky`).
    pub sticky: bool,
    /// The servers whose names are looked up while the group runs (`resolve`); `None` for none.
    pub names: Option<NamedServers>,
}

/// Servers whose names stand for peers that come and go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedServers {
    /// The servers; at least one.
    pub servers: Vec<NamedServer>,
    /// The name servers (`resolver`).
    pub resolver: Arc<ResolverConfig>,
    /// Longest wait for an answer, milliseconds (`resolver_timeout`).
    pub timeout_ms: u64,
}

/// A `server NAME resolve` of an `upstream` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedServer {
    /// The name that is looked up.
    pub host: String,
    /// Whether it is a service's, whose records say ports and weights (`service=`).
    pub is_service: bool,
    /// The port of its peers, where no service says it.
    pub port: u16,
    /// Its peers, but for their address.
    pub peer: PeerConfig,
}

impl GroupConfig {
    /// The group of an `upstream` block; `http_idle` is how many HTTP connections to a peer a worker keeps where the block does not
    /// say, `resolver` looks up the names that `resolve` says it of, with the longest wait for it in milliseconds. All other names are
    /// looked up now, which blocks; those without an address are reported.
    pub fn of(
        upstream: &UpstreamConf,
        http_idle: usize,
        resolver: Option<(Arc<ResolverConfig>, u64)>,
        errors: &mut Vec<Diagnostic>,
    ) -> Self {
        let (mut peers, mut named) = (Vec::new(), Vec::new());
        for server in &upstream.servers {
            if let Some(server) = named_server(server, errors) {
                named.push(server);
                continue;
            }
            match addresses(server) {
                Ok(addresses) => peers.extend(addresses.into_iter().map(|address| peer(server, address))),
                Err(error) => errors.push(Diagnostic::error(server.name.span, error.to_string())),
            }
        }
        Self {
            name: upstream.name.clone(),
            peers,
            balance: upstream.balance,
            keepalive: KeepAlive {
                connections: upstream.keepalive.unwrap_or(0) as usize,
                http: upstream.keepalive.map_or(http_idle, |most| most as usize),
                requests: u32::try_from(upstream.keepalive_requests).unwrap_or(u32::MAX),
                time_ms: upstream.keepalive_time,
                timeout_ms: upstream.keepalive_timeout,
                ..KeepAlive::default()
            },
            queue: upstream.queue,
            sticky: upstream.sticky.is_some(),
            names: names(upstream, named, resolver, errors),
        }
    }

    /// A group of one peer, named after its address: what `fastcgi_pass ADDRESS` means.
    pub fn single(address: Address) -> Self {
        Self {
            name: address.to_string(),
            peers: vec![PeerConfig::new(address)],
            balance: Balance::default(),
            keepalive: KeepAlive::default(),
            queue: None,
            sticky: false,
            names: None,
        }
    }
}

fn peer(server: &UpstreamServer, address: Address) -> PeerConfig {
    PeerConfig {
        address,
        name: server.name.lossy().into_owned(),
        weight: server.weight,
        max_fails: server.max_fails,
        fail_timeout_ms: server.fail_timeout,
        max_fail_timeout_ms: server.max_fail_timeout,
        backup: server.backup,
        down: server.down,
        max_conns: server.max_conns,
        slow_start_ms: server.slow_start,
        drain: server.drain,
        route: server.route.clone(),
    }
}

/// The server, if its name is to be looked up while the group runs; as in nginx an address with `resolve` is an address.
fn named_server(server: &UpstreamServer, errors: &mut Vec<Diagnostic>) -> Option<NamedServer> {
    let (true, UpstreamAddress::Host(host, port)) = (server.resolve, &server.address) else { return None };
    let mut host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if let Some(service) = &server.service {
        // A name without a dot is one of RFC 2782, over TCP as in nginx.
        let prefix = if service.contains('.') { service.clone() } else { format!("_{service}._tcp") };
        host = format!("{}.{host}", prefix.to_ascii_lowercase());
    }
    if !dns::is_name(&host) {
        let message = format!("\"{host}\" in upstream \"{}\" is no name to look up", server.name.lossy());
        errors.push(Diagnostic::error(server.name.span, message));
    }
    // No address yet: each peer gets its own.
    let nowhere = Address::Unix(std::path::PathBuf::new());
    let is_service = server.service.is_some();
    Some(NamedServer { host, is_service, port: *port, peer: peer(server, nowhere) })
}

fn names(
    upstream: &UpstreamConf,
    servers: Vec<NamedServer>,
    resolver: Option<(Arc<ResolverConfig>, u64)>,
    errors: &mut Vec<Diagnostic>,
) -> Option<NamedServers> {
    if servers.is_empty() {
        return None;
    }
    let name = &upstream.name;
    if !upstream.zone {
        let message =
            format!("resolving names at run time requires upstream \"{name}\" to be in shared memory");
        errors.push(Diagnostic::error(upstream.span, message).help("write zone NAME 64k; into its block"));
    }
    let Some((resolver, timeout_ms)) = resolver else {
        let message = format!("no resolver defined to resolve names at run time in upstream \"{name}\"");
        let help = "write resolver ADDRESS; into its block, or around it";
        errors.push(Diagnostic::error(upstream.span, message).help(help));
        return None;
    };
    Some(NamedServers { servers, resolver, timeout_ms })
}

fn addresses(server: &UpstreamServer) -> Result<Vec<Address>, AddressError> {
    match &server.address {
        UpstreamAddress::Ip(address) => Ok(vec![Address::Tcp(*address)]),
        UpstreamAddress::Unix(path) => Ok(vec![Address::Unix(OsStr::from_bytes(path).into())]),
        UpstreamAddress::Host(host, port) => Address::resolve(&format!("{host}:{port}"), None),
    }
}

/// A `server` of an `upstream` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// The address where it listens.
    pub address: Address,
    /// The configuration's name of the server; servers with several addresses have several peers of one name.
    pub name: String,
    /// Its share of the requests, at least 1 (`weight`).
    pub weight: u32,
    /// Failures within `fail_timeout_ms` that make it unavailable, 0 for never (`max_fails`).
    pub max_fails: u32,
    /// How long failures count, and how long it then stays unavailable, in milliseconds (`fail_timeout`).
    pub fail_timeout_ms: u64,
    /// Up to what that doubles with each try again that fails too, in milliseconds; 0 where it does not (`max_fail_timeout`).
    pub max_fail_timeout_ms: u64,
    /// Whether it is used only when all others are unavailable (`backup`).
    pub backup: bool,
    /// Whether it is never used (`down`).
    pub down: bool,
    /// Most requests at a time, 0 for no bound (`max_conns`).
    pub max_conns: u32,
    /// How long its share grows from nothing to all after it has recovered, milliseconds, 0 for not at all (`slow_start`).
    pub slow_start_ms: u64,
    /// Whether only requests that ask for it come to it (`drain`).
    pub drain: bool,
    /// What it is called by requests that ask for it (`route`); none for the hash of its address.
    pub route: Option<String>,
}

impl PeerConfig {
    /// A peer with nginx's defaults: weight 1, one failure in ten seconds.
    pub fn new(address: Address) -> Self {
        Self {
            name: address.to_string(),
            address,
            weight: 1,
            max_fails: 1,
            fail_timeout_ms: 10_000,
            max_fail_timeout_ms: 0,
            backup: false,
            down: false,
            max_conns: 0,
            slow_start_ms: 0,
            drain: false,
            route: None,
        }
    }
}

/// How idle connections are kept (`keepalive` and its kin).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Most idle FastCGI connections to a peer, 0 for none (`keepalive`): for the whole process, so give at most half
    /// of php-fpm's children.
    pub connections: usize,
    /// Most idle HTTP connections to a peer for each worker, 0 for none (`keepalive`).
    pub http: usize,
    /// Most requests over one connection (`keepalive_requests`).
    pub requests: u32,
    /// Longest life of a connection in milliseconds (`keepalive_time`).
    pub time_ms: u64,
    /// Longest idleness in milliseconds (`keepalive_timeout`).
    pub timeout_ms: u64,
    /// Longest idleness of a FastCGI connection in milliseconds, where that is shorter: it holds a php-fpm child that
    /// serves nobody meanwhile.
    pub fastcgi_timeout_ms: u64,
    /// Whether nobody has said that connections are kept, so that one of HTTP/2 is asked once whether the origin reads on after its
    /// first answer.
    pub is_tried: bool,
}

impl Default for KeepAlive {
    /// Off, with the bounds of an `upstream` that says nothing; a second over FastCGI.
    fn default() -> Self {
        let bare = UpstreamConf::bare(Registry::language(), String::new(), Span::default());
        Self {
            connections: 0,
            http: 0,
            requests: u32::try_from(bare.keepalive_requests).unwrap_or(u32::MAX),
            time_ms: bare.keepalive_time,
            timeout_ms: bare.keepalive_timeout,
            fastcgi_timeout_ms: 1000,
            is_tried: false,
        }
    }
}
