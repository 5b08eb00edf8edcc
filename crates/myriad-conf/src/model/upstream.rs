//! `upstream` groups.

use std::net::SocketAddr;

use crate::{span::Span, text::Text};

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
    /// `max_conns=`; 0 means no limit.
    pub max_conns: u32,
    /// `backup`.
    pub backup: bool,
    /// `down`.
    pub down: bool,
}

/// How a group picks a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Smooth weighted turns.
    #[default]
    RoundRobin,
    /// `least_conn`.
    LeastConnections,
    /// `ip_hash`.
    IpHash,
    /// `hash key [consistent]`.
    Hash {
        /// What is hashed; may hold variables.
        key: Text,
        /// `consistent`.
        consistent: bool,
    },
    /// `least_time header|last_byte`.
    LeastTime {
        /// `last_byte`.
        whole: bool,
    },
    /// `random [two [least_conn]]`.
    Random {
        /// `two`.
        two: bool,
    },
}

/// `queue NUMBER [timeout=TIME]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamQueue {
    /// Most requests that wait at once.
    pub most: u32,
    /// How long one waits at most, ms.
    pub timeout: u64,
}

/// An `upstream` block. Times in ms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamConf {
    /// Its name, as `*_pass` says it.
    pub name: String,
    /// Its servers, in source order; at least one.
    pub servers: Vec<UpstreamServer>,
    /// How one is picked.
    pub balance: Balance,
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
    /// The directive.
    pub span: Span,
}
