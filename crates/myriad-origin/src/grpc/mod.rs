//! gRPC origins (`grpc_*`): <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>.
//!
//! They are HTTP origins that are asked over HTTP/2 alone, in messages that pass at once both ways, and whose trailers are told.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
