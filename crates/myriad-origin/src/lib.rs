//! Requests to origins, and the processing of their responses.

pub mod add_header;
pub mod answer;
pub mod bind;
mod cgi;
mod compiled;
pub mod early_hints;
mod fastcgi;
pub mod fetch;
pub mod group;
mod grpc;
pub mod health_check;
mod http;
pub mod make;
mod memcached;
pub mod mirror;
pub mod nominated;
pub mod observer;
mod origin_compiler;
pub mod pace;
mod param;
pub mod post_action;
pub mod protocols;
pub mod read_ahead;
pub mod respond;
pub mod rewrite;
mod scgi;
pub mod sticky;
pub mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tls;
mod to_the_end;
mod tunnel;
pub mod unbuffered;
mod under_way;
pub mod upgrade;
pub mod upgrade_protocols;
pub mod upload;
mod uwsgi;
mod variables;

pub use origin_compiler::OriginCompiler;
