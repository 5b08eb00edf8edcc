//! The network of a visitor.

use std::net::IpAddr;

/// The /24 of an address, or its /48: what one customer of a provider has many of.
pub(crate) fn network(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4((u32::from(address) & !0xff).into()),
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 80 << 80).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_those_of_one_customer() {
        let same = |one: &str, other: &str| {
            network(one.parse().expect("an address")) == network(other.parse().expect("an address"))
        };
        assert!(same("192.0.2.1", "192.0.2.200") && !same("192.0.2.1", "192.0.3.1"));
        assert!(same("2001:db8:1:2::1", "2001:db8:1:3::9") && !same("2001:db8:1::1", "2001:db8:2::1"));
        assert!(same("::ffff:192.0.2.1", "192.0.2.9"));
    }
}
