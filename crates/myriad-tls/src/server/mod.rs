//! TLS settings of servers.

pub(crate) mod config;
pub(crate) mod handshake_certificates;
pub(crate) mod identities;
mod identity;
pub(crate) mod named_certificates;
pub(crate) mod parts;
mod preference;
pub(crate) mod quic;
