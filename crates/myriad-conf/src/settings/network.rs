//! Sets of client addresses in directives.

use std::net::IpAddr;

/// Set of client addresses, as in `allow` and `deny`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// `all`: every client.
    All,
    /// `unix:`: every client on a unix socket.
    Unix,
    /// Network address and prefix length. Bits after the prefix are zero.
    Cidr(IpAddr, u8),
}

impl Network {
    /// Returns whether the set contains a client; `None` is a client on a unix socket. An IPv4 client on an IPv6 socket
    /// (`::ffff:a.b.c.d`) counts as IPv4.
    pub fn contains(&self, client: Option<IpAddr>) -> bool {
        match (*self, client.map(|ip| ip.to_canonical())) {
            (Self::All, _) | (Self::Unix, None) => true,
            (Self::Cidr(IpAddr::V4(net), bits), Some(IpAddr::V4(ip))) => {
                let keep = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                u32::from(ip) & keep == u32::from(net)
            }
            (Self::Cidr(IpAddr::V6(net), bits), Some(IpAddr::V6(ip))) => {
                let keep = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                u128::from(ip) & keep == u128::from(net)
            }
            _ => false,
        }
    }
}
