//! `health_check` of `http` and of `stream`.

use crate::span::Span;
use crate::text::Text;

/// Parameters of health checks of a group. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// `interval=`: pause between two checks of a server.
    pub interval: u64,
    /// `jitter=`: maximum random addition to the pause.
    pub jitter: u64,
    /// `fails=`: consecutive failures that make a server unhealthy.
    pub fails: u32,
    /// `passes=`: consecutive successes that make a server healthy.
    pub passes: u32,
    /// `uri=`: requested URI, in `http`.
    pub uri: Text,
    /// `match=`: name of the conditions for a response; `None` for the default conditions.
    pub matching: Option<Text>,
    /// `mandatory`: a server must pass a check before it receives requests.
    pub mandatory: bool,
    /// `persistent`: `mandatory` does not apply after a reload if the server was healthy before.
    pub persistent: bool,
    /// `port=`: port of the checks, if different from that of requests.
    pub port: Option<u16>,
    /// `keepalive_time=`: time for which a connection is reused, in `http`; 0 for a new connection per check.
    pub keepalive_time: u64,
    /// `type=grpc`: a call of gRPC's health checking protocol instead of a URI, in `http`.
    pub grpc: Option<GrpcHealth>,
    /// `udp`: checks use datagrams, in `stream`.
    pub udp: bool,
    /// Arguments as written.
    pub words: String,
    /// Position of the directive.
    pub span: Span,
}

/// Parameters of gRPC health checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcHealth {
    /// `grpc_service=`: name of the checked service; empty for the whole server.
    pub service: Text,
    /// `grpc_status=`: additional gRPC status that counts as healthy, such as 12 of a server without the health
    /// checking protocol; 0 for none.
    pub status: u32,
}
