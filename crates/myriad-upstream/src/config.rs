//! Configuration of a group of peers (`upstream`): peers, balancing, connection reuse and queueing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::address::{AddressError, PeerAddress};
pub use crate::peer_config::{NamedServer, PeerConfig};
use crate::resolver::{ResolverConfig, message as dns};
use crate::servers::{self, GroupServer};
use myriad_conf::model::{Balance, UpstreamAddress, UpstreamConf, UpstreamQueue, UpstreamServer};
use myriad_conf::registry::Registry;
use myriad_conf::{Diagnostic, Span};

/// Configuration of a [`crate::Group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// Name of the `upstream` block; without a block, the host or address of the target. The health of peers is stored
    /// under this name.
    pub name: String,
    /// Peers with fixed addresses, in the order of the `state` file or of the configuration.
    pub peers: Vec<PeerConfig>,
    /// Algorithm that selects the peer of a request (`ip_hash`, `least_conn`, …).
    pub balance: Balance,
    /// Reuse of connections, and its limits (`keepalive`).
    pub keepalive: KeepAlive,
    /// Queue for requests that wait while all peers are busy (`queue`); without it (`None`), such requests fail
    /// immediately.
    pub queue: Option<UpstreamQueue>,
    /// True if a request can select a peer by its identifier (`sticky`).
    pub sticky: bool,
    /// Servers whose names are resolved at run time (`resolve`); `None` if there are none.
    pub names: Option<NamedServers>,
    /// Zone that allows administrators to add and remove servers at run time (`zone`); `None` without it.
    pub zone: Option<GroupZone>,
}

/// Parameters of a group with `zone`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupZone {
    /// Name of the shared memory zone.
    pub name: String,
    /// Resolver for the names of servers that an administrator adds, with its timeout in milliseconds; `None` if the
    /// configuration has no `resolver`.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
    /// File that contains the servers of the group, instead of `server` directives (`state`); `None` without it.
    pub state: Option<PathBuf>,
    /// Port of added servers without a port; `None` if a port is required.
    pub default_port: Option<u16>,
}

/// Servers with names that resolve to a changing list of peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedServers {
    /// Servers with a name to resolve; at least one.
    pub servers: Vec<NamedServer>,
    /// Resolver of the names (`resolver`).
    pub resolver: Arc<ResolverConfig>,
    /// Timeout of the look-up of a name in milliseconds (`resolver_timeout`).
    pub timeout_ms: u64,
}

impl GroupConfig {
    /// Converts an `upstream` block.
    ///
    /// `http_idle` is the maximum number of idle HTTP connections to a peer for each worker if the block has no
    /// `keepalive`. `resolver` resolves the names with `resolve`; its number is the timeout in milliseconds. All other
    /// names are resolved now, which blocks. `errors` reports invalid names, names without an address, a missing `zone`
    /// or `resolver` for `resolve`, and an invalid `state` file. Relative paths start at `prefix`.
    pub fn from_upstream(
        upstream: &UpstreamConf,
        http_idle: usize,
        resolver: Option<(Arc<ResolverConfig>, u64)>,
        prefix: &Path,
        errors: &mut Vec<Diagnostic>,
    ) -> Self {
        let (mut peers, mut named) = (Vec::new(), Vec::new());
        let zone = zone(upstream, resolver.clone(), prefix);
        for server in zone.iter().flat_map(|zone| state(zone, upstream, errors)) {
            match server {
                GroupServer::Fixed(peer) => peers.push(peer),
                GroupServer::Named(server) => named.push(server),
            }
        }
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
            zone,
        }
    }

    /// Creates the configuration of a group with a single peer, named after its address, without reuse of connections.
    pub fn single(address: PeerAddress) -> Self {
        Self {
            name: address.to_string(),
            peers: vec![PeerConfig::new(address)],
            balance: Balance::default(),
            keepalive: KeepAlive::default(),
            queue: None,
            sticky: false,
            names: None,
            zone: None,
        }
    }
}

fn zone(
    upstream: &UpstreamConf,
    resolver: Option<(Arc<ResolverConfig>, u64)>,
    prefix: &Path,
) -> Option<GroupZone> {
    Some(GroupZone {
        name: upstream.zone.clone()?,
        resolver,
        state: upstream.state.as_ref().map(|path| prefix.join(OsStr::from_bytes(path.bytes()))),
        default_port: (!upstream.of_stream).then_some(80),
    })
}

/// Reads the servers of a `state` file; empty if none is configured or the file does not exist. An unreadable or
/// invalid file is reported in `errors`; the result is then empty as well.
fn state(zone: &GroupZone, upstream: &UpstreamConf, errors: &mut Vec<Diagnostic>) -> Vec<GroupServer> {
    let Some(path) = &zone.state else { return Vec::new() };
    let read = match std::fs::read_to_string(path) {
        Ok(text) => servers::of_state(&text, zone.default_port),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => Err(error.to_string()),
    };
    read.unwrap_or_else(|why| {
        let message = format!("the state file \"{}\" cannot be read: {why}", path.display());
        errors.push(Diagnostic::error(upstream.span, message));
        Vec::new()
    })
}

fn peer(server: &UpstreamServer, address: PeerAddress) -> PeerConfig {
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

/// Returns the server if its name is resolved at run time, otherwise `None`. As in nginx, `resolve` has no effect on an
/// address. An invalid name is reported in `errors`, but the server is returned.
fn named_server(server: &UpstreamServer, errors: &mut Vec<Diagnostic>) -> Option<NamedServer> {
    let (true, UpstreamAddress::Host(host, port)) = (server.resolve, &server.address) else { return None };
    let mut host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    if let Some(service) = &server.service {
        // A service without a dot is an RFC 2782 service name, over TCP as in nginx.
        let prefix = if service.contains('.') { service.clone() } else { format!("_{service}._tcp") };
        host = format!("{}.{host}", prefix.to_ascii_lowercase());
    }
    if !dns::is_name(&host) {
        let message =
            format!("\"{host}\" in upstream \"{}\" is not a valid domain name", server.name.lossy());
        errors.push(Diagnostic::error(server.name.span, message));
    }
    // Placeholder: each peer gets its own address.
    let nowhere = PeerAddress::Unix(std::path::PathBuf::new());
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
    if upstream.zone.is_none() {
        let message =
            format!("resolving names at run time requires upstream \"{name}\" to be in shared memory");
        errors.push(Diagnostic::error(upstream.span, message).help("write zone NAME 64k; into its block"));
    }
    let Some((resolver, timeout_ms)) = resolver else {
        let message = format!("no resolver defined to resolve names at run time in upstream \"{name}\"");
        let help = "add resolver ADDRESS; to the upstream block or to an enclosing block";
        errors.push(Diagnostic::error(upstream.span, message).help(help));
        return None;
    };
    Some(NamedServers { servers, resolver, timeout_ms })
}

fn addresses(server: &UpstreamServer) -> Result<Vec<PeerAddress>, AddressError> {
    match &server.address {
        UpstreamAddress::Ip(address) => Ok(vec![PeerAddress::Tcp(*address)]),
        UpstreamAddress::Unix(path) => Ok(vec![PeerAddress::Unix(OsStr::from_bytes(path).into())]),
        UpstreamAddress::Host(host, port) => PeerAddress::resolve(&format!("{host}:{port}"), None),
    }
}

/// Parameters of connection reuse (`keepalive` and related directives).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Maximum number of idle FastCGI connections to a peer, 0 for none (`keepalive`). The limit applies to the whole
    /// process, so it should be at most half of php-fpm's children.
    pub connections: usize,
    /// Maximum number of idle HTTP/1 and memcached connections of each worker to a peer, counted separately for each
    /// set of TLS parameters; also the maximum number of idle HTTP/2 connections. 0 for none (`keepalive`).
    pub http: usize,
    /// Number of requests after which a connection is closed instead of reused (`keepalive_requests`).
    pub requests: u32,
    /// Age of a connection in milliseconds after which it gets no further requests (`keepalive_time`).
    pub time_ms: u64,
    /// Time in milliseconds after which an idle connection is closed (`keepalive_timeout`).
    pub timeout_ms: u64,
    /// Maximum idle time of a FastCGI connection in milliseconds; `timeout_ms` applies if it is shorter. An idle
    /// connection occupies a php-fpm child that cannot serve other connections.
    pub fastcgi_timeout_ms: u64,
    /// True for targets without an `upstream` block: an HTTP/2 connection is then probed with a PING when it is idle
    /// after its first response, to detect an origin that no longer reads.
    pub is_implicit: bool,
}

impl Default for KeepAlive {
    /// Returns parameters that disable reuse. The other limits are those of an `upstream` block without parameters, and
    /// one second for idle FastCGI connections.
    fn default() -> Self {
        let bare = UpstreamConf::bare(Registry::language(), String::new(), Span::default());
        Self {
            connections: 0,
            http: 0,
            requests: u32::try_from(bare.keepalive_requests).unwrap_or(u32::MAX),
            time_ms: bare.keepalive_time,
            timeout_ms: bare.keepalive_timeout,
            fastcgi_timeout_ms: 1000,
            is_implicit: false,
        }
    }
}
