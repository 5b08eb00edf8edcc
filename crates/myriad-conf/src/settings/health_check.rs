//! `health_check` of `http` and of `stream`.

use crate::span::Span;
use crate::text::Text;

/// How the servers of a group are asked how they are. Times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// `interval=`: the pause between two checks of a server.
    pub interval: u64,
    /// `jitter=`: what chance adds to it at most.
    pub jitter: u64,
    /// `fails=`: failures in a row that make a server unhealthy.
    pub fails: u32,
    /// `passes=`: passed checks in a row that make it healthy.
    pub passes: u32,
    /// `uri=`: what is asked for, in `http`.
    pub uri: Text,
    /// `match=`: what an answer is to be like; none for what is usual.
    pub matching: Option<Text>,
    /// `mandatory`: a server has to pass before it gets requests.
    pub mandatory: bool,
    /// `persistent`: not behind a reload, if it was healthy.
    pub persistent: bool,
    /// `port=`: another port than that of requests.
    pub port: Option<u16>,
    /// `keepalive_time=`: for how long one connection serves, in `http`; 0 for one check alone.
    pub keepalive_time: u64,
    /// `type=grpc`: a call of gRPC's own protocol in place of a URI, in `http`.
    pub grpc: Option<GrpcHealth>,
    /// `udp`: datagrams, in `stream`.
    pub udp: bool,
    /// The words as they are written.
    pub words: String,
    /// Where it stands.
    pub span: Span,
}

/// How a server of gRPC is asked how it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcHealth {
    /// `grpc_service=`: the service that is asked for; empty for the whole server.
    pub service: Text,
    /// `grpc_status=`: a status of gRPC that is well too, such as 12 of a server that does not know the protocol; 0 for none.
    pub status: u32,
}
