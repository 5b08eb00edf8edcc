//! Server side of TLS.

pub(crate) mod chosen;
pub(crate) mod config;
pub(crate) mod identities;
mod identity;
pub(crate) mod named;
pub(crate) mod parts;
mod preference;
pub(crate) mod quic;
