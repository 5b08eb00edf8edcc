//! Requests to origins and processing of their responses, with a folder for each protocol; the `stream` block.

pub mod add_header;
pub mod answer;
mod background_requests;
pub mod bind;
pub mod build_request;
mod cgi;
mod compiled_protocol;
mod completing_fetch;
pub mod connection_listed_fields;
pub mod early_hints;
mod fastcgi;
pub mod fetch;
pub mod group;
mod grpc;
pub mod health_check;
mod http;
mod memcached;
pub mod mirror;
pub mod observer;
mod origin_compiler;
mod param;
pub mod post_action;
pub mod protocols;
pub mod read_ahead;
pub mod read_rate_limiter;
pub mod respond;
pub mod rewrite;
mod scgi;
pub mod sticky;
pub mod store;
#[cfg(feature = "stream")]
pub mod stream;
mod tls;
mod tunnel;
pub mod unbuffered_upload;
pub mod upgrade;
pub mod upgrade_protocols;
pub mod upload;
mod uwsgi;
mod variables;

pub use origin_compiler::OriginCompiler;
