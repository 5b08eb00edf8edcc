//! How a group is configured: its peers, how one is chosen, how connections are kept, how long requests wait.

use crate::address::Address;
use myriad_conf::Span;
use myriad_conf::model::{Balance, UpstreamConf, UpstreamQueue};
use myriad_conf::registry::Registry;

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
