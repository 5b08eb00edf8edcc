//! Model of `upstream` blocks: groups of servers, with their balancing method.

use std::net::SocketAddr;

use super::sticky::Sticky;
use crate::{settings::Settings, span::Span, text::Text};

/// Address of a `server` in an upstream group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UpstreamAddress {
    /// IP address and port.
    Ip(SocketAddr),
    /// Host name to resolve, and port (in `http` 80 if not set).
    Host(String, u16),
    /// `unix:PATH`: path of the socket.
    Unix(Vec<u8>),
}

/// `server` directive of an `upstream` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamServer {
    /// Address to connect to.
    pub address: UpstreamAddress,
    /// Address of the server as written, for logs, and for `$upstream_addr` if it is a host name.
    pub name: Text,
    /// `weight=`: share of the server in load balancing, at least 1.
    pub weight: u32,
    /// `max_fails=`: number of failures within `fail_timeout` after which the server is considered unavailable, unless
    /// it is the only one; 0 disables this.
    pub max_fails: u32,
    /// `fail_timeout=`, in ms: period in which failures are counted, and time for which the server is then not used.
    pub fail_timeout: u64,
    /// `max_fail_timeout=`, in ms: maximum pause of a server that fails repeatedly, whose pauses grow up to it; 0, or a
    /// value below `fail_timeout`, for constant pauses.
    pub max_fail_timeout: u64,
    /// `max_conns=`: maximum number of concurrent connections; 0 for no limit.
    pub max_conns: u32,
    /// `backup`: true if the server is only used while no server without `backup` is available.
    pub backup: bool,
    /// `down`: true if the server is not used.
    pub down: bool,
    /// `slow_start=`, in ms: time in which the weight of a recovered server grows from 0; 0 for immediately.
    pub slow_start: u64,
    /// `drain`: true if the server only receives requests of sessions that are bound to it (`sticky`).
    pub drain: bool,
    /// `route=`: name of the server for `sticky`; `None` for the MD5 hash of its address.
    pub route: Option<String>,
    /// `resolve`: true if the name is resolved periodically, and servers are added and removed accordingly. Has no
    /// effect on a literal address or a unix socket; otherwise requires `zone` and `resolver`.
    pub resolve: bool,
    /// `service=`: name of a service whose SRV records contain ports and weights (RFC 2782); `None` if not set.
    pub service: Option<String>,
}

/// Balancing method of an upstream group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balance {
    /// Smooth weighted round robin.
    #[default]
    RoundRobin,
    /// `least_conn`: the server with the fewest active requests relative to its weight.
    LeastConnections,
    /// `ip_hash`: hash of the client's address: the first three octets of IPv4, or the whole IPv6 address.
    IpHash,
    /// `hash key [consistent]`: hash of the value of [`UpstreamConf::hash_key`].
    Hash {
        /// `consistent`: true for consistent hashing, where a change of the group moves few keys.
        consistent: bool,
    },
    /// `least_time`: the server that is expected to finish first, by its average response time and its load.
    LeastTime {
        /// Event up to which response time is measured.
        moment: MeasuredUntil,
        /// `inflight`: true if the elapsed time of active requests is used where it exceeds the average.
        inflight: bool,
    },
    /// `random [two [METHOD]]`: a random server, by weight.
    Random {
        /// `two`: measure by which the better of two random servers is selected; `None` without `two`.
        two: Option<LeastMeasure>,
    },
}

/// Measure of the load of an upstream server; the server with the smaller value is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeastMeasure {
    /// Active requests relative to the weight (`least_conn`).
    Connections,
    /// Expected time until a request is finished (`least_time`).
    Time(MeasuredUntil),
}

/// Event up to which the time of a request or session is measured (`least_time`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredUntil {
    /// The connection is established (`connect`, only in `stream`).
    Connect,
    /// The response head has arrived (`header`), or in `stream` the first byte (`first_byte`).
    First,
    /// The whole response has arrived (`last_byte`).
    Last,
}

/// `queue NUMBER [timeout=TIME]`: queue of requests that wait while all available servers are at `max_conns`, or while
/// no server is available and the name of one has not been resolved yet.
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
    /// Name of the group, to which `*_pass` refers.
    pub name: String,
    /// Servers, in source order.
    pub servers: Vec<UpstreamServer>,
    /// Balancing method.
    pub balance: Balance,
    /// Key of `hash`, which may contain variables; `None` for other balancing methods.
    pub hash_key: Option<Text>,
    /// `keepalive`: maximum number of idle connections to each server with the same HTTP version and TLS settings: per
    /// worker, for FastCGI of all workers. `None` for the default: 32 per worker, for FastCGI none.
    pub keepalive: Option<u32>,
    /// `keepalive_requests`: maximum number of requests per connection to a server.
    pub keepalive_requests: u64,
    /// `keepalive_timeout`: time in ms after which an idle connection to a server is closed; for FastCGI at most one
    /// second.
    pub keepalive_timeout: u64,
    /// `keepalive_time`: a connection to a server that is older than this, in ms, is closed after its current response.
    pub keepalive_time: u64,
    /// `queue`: queue of requests that cannot be sent to a server yet; `None` if not set.
    pub queue: Option<UpstreamQueue>,
    /// `sticky`: session affinity; `None` if not set.
    pub sticky: Option<Sticky>,
    /// `zone`: name of the group's shared memory zone. Servers of a group with a zone can be added and removed at run
    /// time. `None` if not set.
    pub zone: Option<String>,
    /// `state`: file from which the servers are read instead of `server` directives; `None` if not set.
    pub state: Option<Text>,
    /// True if the group is in `stream`, where `server` requires a port.
    pub of_stream: bool,
    /// Settings inherited from the outer block, changed by the directives of features (such as `health_check`) in this
    /// block.
    pub settings: Settings,
    /// Position of the directive.
    pub span: Span,
}
