//! `upstream` groups.

use std::net::SocketAddr;

use super::sticky::Sticky;
use crate::{settings::Settings, span::Span, text::Text};

/// The address of a server of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UpstreamAddress {
    /// A literal address and port.
    Ip(SocketAddr),
    /// A host name to resolve, and a port (80 where not written).
    Host(String, u16),
    /// `unix:PATH`.
    Unix(Vec<u8>),
}

/// One `server` of an `upstream`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamServer {
    /// Its address.
    pub address: UpstreamAddress,
    /// As written, for logs and `$upstream_addr` of a host name.
    pub name: Text,
    /// `weight=`, at least 1.
    pub weight: u32,
    /// `max_fails=`; 0 turns the count off.
    pub max_fails: u32,
    /// `fail_timeout=`, ms.
    pub fail_timeout: u64,
    /// `max_fail_timeout=`, ms: how long the pauses of a server grow that keeps failing; 0 where they do not.
    pub max_fail_timeout: u64,
    /// `max_conns=`; 0 means no limit.
    pub max_conns: u32,
    /// `backup`.
    pub backup: bool,
    /// `down`.
    pub down: bool,
    /// `slow_start=`, ms: how long its share grows after it has recovered; 0 for at once.
    pub slow_start: u64,
    /// `drain`: only visitors who ask for it by `sticky` come to it.
    pub drain: bool,
    /// `route=`: what it is called by `sticky`.
    pub route: Option<String>,
    /// `resolve`: a name is looked up while the group runs, and its servers come and go.
    pub resolve: bool,
    /// `service=`: the name is one of a service, whose servers have ports and weights of their own (RFC 2782).
    pub service: Option<String>,
}

/// How a group picks a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Smooth weighted round robin.
    #[default]
    RoundRobin,
    /// `least_conn`: the server with the fewest requests for its weight.
    LeastConnections,
    /// `ip_hash`: by the client's network, the first three octets of IPv4, all of IPv6.
    IpHash,
    /// `hash key [consistent]`: by [`UpstreamConf::hash_key`].
    Hash {
        /// `consistent`: a changed group moves few keys.
        consistent: bool,
    },
    /// `least_time`: the server that would be done first, by how long it took up to a moment, and what it has to do.
    LeastTime {
        /// Up to when the time of a request counts.
        moment: Moment,
        /// `inflight`: how long requests under way have taken so far counts, where that is more.
        inflight: bool,
    },
    /// `random [two [METHOD]]`: by chance and weight.
    Random {
        /// `two`: the one with less of this of two by chance.
        two: Option<Least>,
    },
}

/// What a server has least of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Least {
    /// Requests under way, for its weight (`least_conn`).
    Connections,
    /// Time until it would be done (`least_time`).
    Time(Moment),
}

/// Up to when the time of a request or a session counts (`least_time`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The connection is made (`connect`, in `stream` alone).
    Connect,
    /// The head of the answer is there (`header`), in `stream` its first byte (`first_byte`).
    First,
    /// All of the answer is there (`last_byte`).
    Last,
}

/// `queue NUMBER [timeout=TIME]`: where requests wait while every server has as many as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamQueue {
    /// Most requests that wait at once.
    pub most: u32,
    /// `timeout=`: longest wait in milliseconds.
    pub timeout_ms: u64,
}

/// An `upstream` block. Times in ms.
#[derive(Clone, Debug)]
pub struct UpstreamConf {
    /// Its name, as `*_pass` says it.
    pub name: String,
    /// Its servers, in source order; at least one.
    pub servers: Vec<UpstreamServer>,
    /// How one is picked.
    pub balance: Balance,
    /// What `hash` hashes, where it is how one is picked; may hold variables.
    pub hash_key: Option<Text>,
    /// `keepalive`: idle connections kept by each worker; `None` where not written.
    pub keepalive: Option<u32>,
    /// `keepalive_requests` on one connection.
    pub keepalive_requests: u64,
    /// `keepalive_timeout` of an idle connection.
    pub keepalive_timeout: u64,
    /// `keepalive_time`: a connection older than this is closed after its answer.
    pub keepalive_time: u64,
    /// `queue`: where requests wait while all servers are busy; `None` where not written.
    pub queue: Option<UpstreamQueue>,
    /// `sticky`: how a visitor's server is known again; `None` where not written.
    pub sticky: Option<Sticky>,
    /// `zone`: its name, which lets servers be added and removed while the group runs; `None` where not written.
    pub zone: Option<String>,
    /// `state`: the file that has the servers in the place of `server`; `None` where not written.
    pub state: Option<Text>,
    /// Whether it stands in `stream`, where no protocol gives servers a port.
    pub of_stream: bool,
    /// The settings of the level: those of the block around it, and what features let this one say.
    pub settings: Settings,
    /// The directive.
    pub span: Span,
}
