//! Address of the client in requests that the server makes itself.

use std::net::{IpAddr, Ipv4Addr};

/// Address of the client in requests that the server makes itself, which the origin receives. It is reserved for
/// documentation (RFC 5737), so that no list of permitted addresses contains it.
pub const SERVER_CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
