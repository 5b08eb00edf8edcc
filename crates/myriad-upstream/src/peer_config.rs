//! Configuration of the servers of a group (`upstream`).

use crate::address::PeerAddress;

/// Configuration of a peer: a `server` of an `upstream` block with one of its addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// Address of the peer.
    pub address: PeerAddress,
    /// Name of the server in the configuration, or the target of its service record; a server with several addresses
    /// has several peers of the same name.
    pub name: String,
    /// Weight of the peer, at least 1 (`weight`).
    pub weight: u32,
    /// Number of failures within `fail_timeout_ms` that make the peer unavailable, 0 to disable (`max_fails`).
    pub max_fails: u32,
    /// Period in which failures count, and length of the following unavailability, in milliseconds (`fail_timeout`).
    pub fail_timeout_ms: u64,
    /// Maximum length of an unavailability in milliseconds: the pause doubles with each failed retry up to this value.
    /// With 0, or less than `fail_timeout_ms`, it is constant (`max_fail_timeout`).
    pub max_fail_timeout_ms: u64,
    /// True if the peer gets requests only when no other peer is usable (`backup`).
    pub backup: bool,
    /// True if the peer gets no requests (`down`).
    pub down: bool,
    /// Maximum number of concurrent requests, 0 for no limit (`max_conns`).
    pub max_conns: u32,
    /// Time in milliseconds after a recovery in which the weight of the peer increases from almost zero to its full
    /// value, 0 to disable (`slow_start`).
    pub slow_start_ms: u64,
    /// True if the peer gets only requests with its `sticky` identifier (`drain`).
    pub drain: bool,
    /// Identifier of the peer for `sticky` (`route`); `None` for the hash of its address.
    pub route: Option<String>,
}

impl PeerConfig {
    /// Creates a peer with nginx's defaults: weight 1, one failure in ten seconds.
    pub fn new(address: PeerAddress) -> Self {
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

/// Server whose name is resolved at run time (`server NAME resolve`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedServer {
    /// Name to resolve, in lower case without a final dot; for a service with its prefix, such as `_http._tcp.`.
    pub host: String,
    /// True if the name is a service name: its SRV records contain ports and weights (`service=`).
    pub is_service: bool,
    /// Port of the peers, unless service records contain it.
    pub port: u16,
    /// Configuration of the peers, except for the address.
    pub peer: PeerConfig,
}
