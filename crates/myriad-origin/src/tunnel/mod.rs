//! Tunnels (`tunnel_*`): a CONNECT request is answered once a configured server is connected; bytes are then forwarded
//! in both directions (RFC 9110 section 9.3.6).
//!
//! Requests can only reach addresses in the configuration. The address in a request is only available to rules and as
//! input of `map`.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
