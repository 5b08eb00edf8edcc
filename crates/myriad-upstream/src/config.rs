//! How a group is configured: its peers, how one is chosen, how connections are kept, how long requests wait.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::address::{Address, AddressError};
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
}

impl GroupConfig {
    /// The group of an `upstream` block; `http_idle` is how many HTTP connections to a peer a worker keeps where the block does not
    /// say. Names are looked up, which blocks; those without an address are reported.
    pub fn of(upstream: &UpstreamConf, http_idle: usize, errors: &mut Vec<Diagnostic>) -> Self {
        let mut peers = Vec::new();
        for server in &upstream.servers {
            match addresses(server) {
                Ok(addresses) => peers.extend(addresses.into_iter().map(|address| PeerConfig {
                    address,
                    name: server.name.lossy().into_owned(),
                    weight: server.weight,
                    max_fails: server.max_fails,
                    fail_timeout_ms: server.fail_timeout,
                    backup: server.backup,
                    down: server.down,
                    max_conns: server.max_conns,
                })),
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
        }
    }
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
    /// Whether it is used only when all others are unavailable (`backup`).
    pub backup: bool,
    /// Whether it is never used (`down`).
    pub down: bool,
    /// Most requests at a time, 0 for no bound (`max_conns`).
    pub max_conns: u32,
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
            backup: false,
            down: false,
            max_conns: 0,
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
        }
    }
}
