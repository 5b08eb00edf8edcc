//! Network of a client. Limits and challenge passes apply to a whole network, not to a single address.

use std::net::{IpAddr, Ipv4Addr};

use myriad_http::client_network;

/// Returns the /24 network of an IPv4 address (also of one mapped to IPv6), or the /64 network of another IPv6 address:
/// one client may use all addresses of its network.
pub(crate) fn network(client: IpAddr) -> IpAddr {
    match client_network(client) {
        IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & !0xff)),
        v6 @ IpAddr::V6(_) => v6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_those_of_one_client() {
        let same = |one: &str, other: &str| {
            network(one.parse().expect("an address")) == network(other.parse().expect("an address"))
        };
        assert!(same("192.0.2.1", "192.0.2.200") && !same("192.0.2.1", "192.0.3.1"));
        assert!(
            same("2001:db8:1:2::1", "2001:db8:1:2:ffff::9") && !same("2001:db8:1:2::1", "2001:db8:1:3::1")
        );
        assert!(same("::ffff:192.0.2.1", "192.0.2.9"));
    }
}
