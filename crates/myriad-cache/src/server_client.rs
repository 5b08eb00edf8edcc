//! Address of the client in requests that the server makes itself.

use std::net::{IpAddr, Ipv4Addr};

/// Client address in requests that the server creates without a client; the origin receives this address. It is
/// reserved for documentation (RFC 5737), so that no list of permitted addresses contains it.
pub const SERVER_CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
