//! How a group is configured: its peers, how one is chosen, how connections are kept, how long requests wait.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::address::{Address, AddressError};
pub use crate::peer_config::{NamedServer, PeerConfig};
use crate::resolver::{ResolverConfig, message as dns};
use crate::servers::{self, GroupServer};
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
    /// What lets administrators add and remove servers while the group runs (`zone`); `None` for none.
    pub zone: Option<GroupZone>,
}

/// What a group has with `zone`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupZone {
    /// The name of the zone.
    pub name: String,
    /// What names of servers are looked up by that an administrator adds, with the longest wait in milliseconds; `None` where the
    /// configuration has no `resolver`.
    pub resolver: Option<(Arc<ResolverConfig>, u64)>,
    /// The file that has the servers in the place of the configuration (`state`).
    pub state: Option<PathBuf>,
    /// The port of servers that are added without one; `None` where they must say it.
    pub default_port: Option<u16>,
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

impl GroupConfig {
    /// The group of an `upstream` block; `http_idle` is how many HTTP connections to a peer a worker keeps where the block does not
    /// say, `resolver` looks up the names that `resolve` says it of, with the longest wait for it in milliseconds. All other names are
    /// looked up now, which blocks; those without an address are reported. Relative paths start from `prefix`.
    pub fn of(
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

/// The servers of a `state` file; none where there is no file yet.
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
    if upstream.zone.is_none() {
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
