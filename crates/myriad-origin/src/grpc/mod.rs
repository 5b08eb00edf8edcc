//! gRPC origins (`grpc_*`): <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>.
//!
//! They are HTTP origins with HTTP/2 only. Messages are forwarded without buffering in both directions, and trailers
//! are forwarded.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
