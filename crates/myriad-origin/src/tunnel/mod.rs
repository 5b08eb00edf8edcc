//! Tunnels (`tunnel_*`): a client's CONNECT is answered as soon as a server that the configuration names is connected to, and from
//! then on bytes pass both ways (RFC 9110 section 9.3.6).
//!
//! No request reaches an address that the configuration does not write out: what the request names is for rules to look at, and for
//! `map` to choose by.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
