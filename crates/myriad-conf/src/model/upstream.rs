//! `upstream` groups.

use std::net::SocketAddr;

use super::sticky::Sticky;
use crate::{settings::Settings, span::Span, text::Text};

/// Address of a server in a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UpstreamAddress {
    /// Literal address and port.
    Ip(SocketAddr),
    /// Host name to resolve, and port (80 if not set).
    Host(String, u16),
    /// `unix:PATH`.
    Unix(Vec<u8>),
}

/// `server` of an `upstream`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamServer {
    /// Address.
    pub address: UpstreamAddress,
    /// Address as written, for logs and for `$upstream_addr` of a host name.
    pub name: Text,
    /// `weight=`, at least 1.
    pub weight: u32,
    /// `max_fails=`; 0 disables counting.
    pub max_fails: u32,
    /// `fail_timeout=`, in ms.
    pub fail_timeout: u64,
    /// `max_fail_timeout=`, in ms: maximum length of the growing pauses of a server that fails repeatedly; 0 for
    /// constant pauses.
    pub max_fail_timeout: u64,
    /// `max_conns=`; 0 means no limit.
    pub max_conns: u32,
    /// `backup`.
    pub backup: bool,
    /// `down`.
    pub down: bool,
    /// `slow_start=`, in ms: time during which the share of a recovered server grows; 0 for immediately.
    pub slow_start: u64,
    /// `drain`: the server only receives requests that are bound to it by `sticky`.
    pub drain: bool,
    /// `route=`: name of the server for `sticky`.
    pub route: Option<String>,
    /// `resolve`: the name is resolved periodically, and servers are added and removed accordingly.
    pub resolve: bool,
    /// `service=`: the name is a service whose DNS records have ports and weights (RFC 2782).
    pub service: Option<String>,
}

/// Balancing method of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Smooth weighted round robin.
    #[default]
    RoundRobin,
    /// `least_conn`: the server with the fewest requests for its weight.
    LeastConnections,
    /// `ip_hash`: by the network of the client: the first three octets of IPv4, or the whole IPv6 address.
    IpHash,
    /// `hash key [consistent]`: by [`UpstreamConf::hash_key`].
    Hash {
        /// `consistent`: changes to the group move few keys.
        consistent: bool,
    },
    /// `least_time`: the server that would finish first, by its average time up to a moment and its current load.
    LeastTime {
        /// Moment up to which the time of a request counts.
        moment: MeasuredUntil,
        /// `inflight`: the elapsed time of requests in flight counts if it is larger.
        inflight: bool,
    },
    /// `random [two [METHOD]]`: random selection by weight.
    Random {
        /// `two`: the server with the smaller value of this measure among two random servers.
        two: Option<LeastMeasure>,
    },
}

/// Measure by which the smaller of two servers is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastMeasure {
    /// Requests in flight relative to the weight (`least_conn`).
    Connections,
    /// Expected time to finish (`least_time`).
    Time(MeasuredUntil),
}

/// Moment up to which the time of a request or session counts (`least_time`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredUntil {
    /// The connection is established (`connect`, only in `stream`).
    Connect,
    /// The response head has arrived (`header`); in `stream`, the first byte (`first_byte`).
    First,
    /// The whole response has arrived (`last_byte`).
    Last,
}

/// `queue NUMBER [timeout=TIME]`: queue of requests that wait while all servers are at their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpstreamQueue {
    /// Maximum number of waiting requests.
    pub max: u32,
    /// `timeout=`: maximum wait, in milliseconds.
    pub timeout_ms: u64,
}

/// `upstream` block. Times are in ms.
#[derive(Clone, Debug)]
pub struct UpstreamConf {
    /// Name as used by `*_pass`.
    pub name: String,
    /// Servers in source order.
    pub servers: Vec<UpstreamServer>,
    /// Balancing method.
    pub balance: Balance,
    /// Key of `hash`, if that is the balancing method; may contain variables.
    pub hash_key: Option<Text>,
    /// `keepalive`: maximum number of idle connections per worker; `None` if not set.
    pub keepalive: Option<u32>,
    /// `keepalive_requests` on one connection.
    pub keepalive_requests: u64,
    /// `keepalive_timeout` of an idle connection.
    pub keepalive_timeout: u64,
    /// `keepalive_time`: a connection older than this is closed after its current response.
    pub keepalive_time: u64,
    /// `queue`: queue of requests while all servers are busy; `None` if not set.
    pub queue: Option<UpstreamQueue>,
    /// `sticky`: session affinity; `None` if not set.
    pub sticky: Option<Sticky>,
    /// `zone`: its name. A group with a zone allows adding and removing servers at run time. `None` if not set.
    pub zone: Option<String>,
    /// `state`: file with the servers, used instead of `server`; `None` if not set.
    pub state: Option<Text>,
    /// True if the group is in `stream`, where servers have no default port.
    pub of_stream: bool,
    /// Settings of the level: those of the outer block, and directives of features in this block.
    pub settings: Settings,
    /// The directive.
    pub span: Span,
}
