//! Network by which a client is identified in limits.

use std::net::{IpAddr, Ipv6Addr};

/// Length in bits of the IPv6 prefix that identifies a client: a client chooses the other 64 bits freely (RFC 4862).
pub const IPV6_PREFIX: u32 = 64;

/// Returns the address by which limits identify a client: an IPv4 address unchanged, or the /64 network of an IPv6
/// address. An IPv4-mapped IPv6 address becomes the IPv4 address.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        v4 @ IpAddr::V4(_) => v4,
        IpAddr::V6(address) => {
            let host_bits = 128 - IPV6_PREFIX;
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> host_bits << host_bits))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv6_addresses_of_one_64_are_one_network_and_ipv4_addresses_are_their_own() {
        let network = |address: &str| client_network(address.parse().expect("an address")).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:2:ffff::1"), "2001:db8:1:2::");
        assert_eq!(network("2001:db8:1:3::1"), "2001:db8:1:3::");
        assert_eq!(network("192.0.2.7"), "192.0.2.7");
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
    }
}
