//! How a group is configured: its peers, how one is chosen, how connections are kept, how long requests wait.

use crate::address::Address;

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
    pub queue: Option<Queue>,
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

/// How a group chooses a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Smooth weighted round robin.
    #[default]
    RoundRobin,
    /// The peer with the fewest requests for its weight (`least_conn`).
    LeastConn,
    /// The peer that would be done first, by how long its answers took and what it has to do (`least_time`).
    LeastTime {
        /// Up to the last byte rather than the head (`last_byte`).
        whole: bool,
    },
    /// By the client's network: the first three octets of IPv4, all of IPv6 (`ip_hash`).
    IpHash,
    /// By a key (`hash KEY`).
    Hash,
    /// By a key, so that a changed group moves few of them (`hash KEY consistent`).
    ConsistentHash,
    /// By chance and weight (`random`).
    Random,
    /// The one with fewer requests for its weight of two by chance (`random two`).
    RandomTwo,
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
    /// Off, with nginx's bounds: 1000 requests, an hour of life, a minute idle; a second over FastCGI.
    fn default() -> Self {
        Self {
            connections: 0,
            http: 0,
            requests: 1000,
            time_ms: 3_600_000,
            timeout_ms: 60_000,
            fastcgi_timeout_ms: 1000,
        }
    }
}

/// The queue in which requests wait while every peer has as many as it may have (`queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Most requests that wait at once.
    pub most: usize,
    /// Longest wait in milliseconds (`timeout=`).
    pub timeout_ms: u64,
}
