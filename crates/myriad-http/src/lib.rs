//! HTTP semantics without I/O: heads, fields, ranges, URIs and the codecs of HTTP/1, HTTP/2 and HTTP/3.
//!
//! Functions only depend on their arguments: no clock, no socket, no file. The caller passes times as parameters and
//! bytes as slices. No input from the network can make this crate panic.

#![forbid(unsafe_code)]

pub mod accept;
pub mod body;
pub mod cache_control;
mod client_network;
pub mod conditional;
pub mod content_range;
pub mod eight_bytes;
mod error;
pub mod fields;
pub mod form;
pub mod forwarded;
pub mod grpc_health;
pub mod h1;
pub mod h2;
pub mod h3;
pub mod head;
mod known_fields;
pub mod lines;
mod list;
pub mod media_types;
mod method;
pub mod proxy_protocol;
pub mod ranges;
mod reset_budget;
pub mod structured;
pub mod token;
pub mod uri;

pub use client_network::{IPV6_PREFIX, client_network};
pub use error::ParseError;
pub use fields::Fields;
pub use head::{HttpVersion, RequestHead, ResponseHead};
pub use known_fields::Known;
pub use method::{Method, MethodSet};
pub use reset_budget::ResetBudget;
