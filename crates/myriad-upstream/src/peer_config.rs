//! How a server of a group is configured.

use crate::address::Address;

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
