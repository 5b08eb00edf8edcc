//! Tunnels (`tunnel_*`): CONNECT is answered as soon as a configured server is connected. Bytes are then forwarded in
//! both directions (RFC 9110 section 9.3.6).
//!
//! Requests can only reach addresses that are written in the configuration. The address named in a request is only
//! available to rules and as input of `map`.

mod compile;
mod language;
mod place;

pub(super) use compile::PROTOCOL;
