//! Settings of `health_check` in `http` and `stream`.

use crate::span::Span;
use crate::text::Text;

/// Parameters of the health checks of an upstream group. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// `interval=`: time between two checks of a server, in ms.
    pub interval: u64,
    /// `jitter=`: maximum random time added to the interval, in ms.
    pub jitter: u64,
    /// `fails=`: number of consecutive failures after which a server is unhealthy.
    pub fails: u32,
    /// `passes=`: number of consecutive successes after which a server is healthy.
    pub passes: u32,
    /// `uri=`: URI that a check requests, in `http`.
    pub uri: Text,
    /// `match=`: name of the `match` block with the conditions for a response; `None` for the default conditions.
    pub matching: Option<Text>,
    /// `mandatory`: true if a server must pass a check before it receives requests.
    pub mandatory: bool,
    /// `persistent`: true if a server that was healthy before a reload need not pass a check first.
    pub persistent: bool,
    /// `port=`: port of the checks; `None` for the port of the server.
    pub port: Option<u16>,
    /// `keepalive_time=`, in `http`: time in ms for which a connection is reused for checks; 0 for a new connection per
    /// check.
    pub keepalive_time: u64,
    /// `type=grpc`, in `http`: parameters of checks by gRPC's health checking protocol; `None` for checks by `uri`.
    pub grpc: Option<GrpcHealth>,
    /// `udp`, in `stream`: true if checks use UDP.
    pub udp: bool,
    /// Arguments of `health_check` as written.
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
