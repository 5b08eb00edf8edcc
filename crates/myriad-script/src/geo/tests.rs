use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::*;
use crate::frame::Frame;
use crate::testing::{Request, compiler};

fn located(lines: &[&str], address: &str, forwarded: &str) -> String {
    let mut compiler = compiler();
    compiler.declare_lazy("$geo").unwrap();
    let template = compiler.template("$geo").unwrap();
    let lines: Vec<Vec<&str>> = lines.iter().map(|line| line.split(' ').collect()).collect();
    compiler.define_geo("$geo", None, &lines).unwrap();
    let request = Request::new(compiler.finish().unwrap())
        .with("remote_addr", address)
        .with("http_x_forwarded_for", forwarded);
    let mut out = Vec::new();
    template.eval(&request, &mut Frame::new(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_smallest_network_counts() {
    let lines = [
        "default ZZ",
        "10.0.0.0/8 A",
        "10.1.0.0/16 B",
        "10.1.2.3 C",
        "2001:db8::/32 D",
        "::1 E",
        "10.2.0.0/16 X",
        "delete 10.2.0.0/16",
    ];
    for (address, value) in [
        ("10.9.9.9", "A"),
        ("10.1.9.9", "B"),
        ("10.1.2.3", "C"),
        ("10.2.0.1", "A"),
        ("::ffff:10.1.2.3", "C"),
        ("2001:db8:1::1", "D"),
        ("::1", "E"),
        ("::2", "ZZ"),
        ("192.0.2.1", "ZZ"),
        ("unix:", "ZZ"),
        ("", "ZZ"),
    ] {
        assert_eq!(located(&lines, address, ""), value, "{address}");
    }
    assert_eq!(located(&["255.255.255.255 bad"], "no address", ""), "bad");
    assert_eq!(located(&["0.0.0.0/0 all"], "192.0.2.1", ""), "all");
}

#[test]
fn ranges_may_overlap_and_the_later_counts() {
    let lines =
        ["ranges", "default 0", "10.0.0.0-10.0.0.255 a", "10.0.0.10-10.0.0.20 b", "10.0.0.15-10.0.1.5 c"];
    for (address, value) in [
        ("10.0.0.9", "a"),
        ("10.0.0.10", "b"),
        ("10.0.0.14", "b"),
        ("10.0.0.15", "c"),
        ("10.0.1.5", "c"),
        ("10.0.1.6", "0"),
        ("::1", "0"),
    ] {
        assert_eq!(located(&lines, address, ""), value, "{address}");
    }
    assert_eq!(located(&["ranges", "10.0.0.1-10.0.0.9 a", "delete 10.0.0.1-10.0.0.9"], "10.0.0.2", ""), "");
}

#[test]
fn client_is_found_from_right_of_trusted_proxy_list() {
    let lines = ["default 0", "proxy 10.0.0.0/8", "192.0.2.0/24 a", "198.51.100.0/24 b"];
    assert_eq!(located(&lines, "10.0.0.1", "198.51.100.1, 192.0.2.1"), "a");
    assert_eq!(located(&lines, "198.51.100.9", "192.0.2.1"), "b", "an untrusted peer is not believed");
    assert_eq!(located(&lines, "10.0.0.1", ""), "0");
    assert_eq!(located(&lines, "10.0.0.1", "198.51.100.1, 10.0.0.2"), "0");
    let recursive = [&lines[..], &["proxy_recursive"]].concat();
    assert_eq!(located(&recursive, "10.0.0.1", "198.51.100.1, 10.0.0.2"), "b");
    assert_eq!(located(&recursive, "10.0.0.1", "192.0.2.1, 198.51.100.1, 10.0.0.2"), "b");
}

#[test]
fn wrong_lines_are_named() {
    let lines = [
        vec!["10.0.0.0/33", "a"],
        vec!["10.0.0", "a"],
        vec!["a"],
        vec!["10.0.0.1", "a"],
        vec!["ranges"],
        vec!["proxy", "x"],
    ];
    let errors = compiler().define_geo("$geo", Some("$arg_ip"), &lines).unwrap_err();
    let items: Vec<_> = errors.iter().map(|error| error.item.unwrap()).collect();
    assert_eq!(items, [0, 1, 2, 4, 5]);
    let errors =
        compiler().define_geo("$geo", None, &[vec!["ranges"], vec!["10.0.0.9-10.0.0.1", "a"]]).unwrap_err();
    assert_eq!(errors[0].message, "invalid range \"10.0.0.9-10.0.0.1\"");
}

/// Compares lookups with a linear search for the longest matching prefix.
#[test]
fn networks_agree_with_a_plain_list() {
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut networks = Networks::default();
        let mut list: Vec<(GeoNetwork, u32)> = Vec::new();
        let six = random.bool();
        let most = if six { 128 } else { 32 };
        let mut address = || -> IpAddr {
            // Only a few bits vary, so that the networks overlap.
            let bits = u128::from(random.u32(..64)) << (most - 6);
            if six { Ipv6Addr::from(bits).into() } else { Ipv4Addr::from(bits as u32).into() }
        };
        for value in 0..20 {
            let at = address();
            let length = (value * 7 + seed as u32) % 8;
            let network = GeoNetwork::parse(&format!("{at}/{length}")).unwrap();
            networks.insert(network, value);
            list.retain(|(known, _)| *known != network);
            list.push((network, value));
        }
        for _ in 0..64 {
            let at = address();
            let holds = |network: &GeoNetwork| {
                GeoNetwork::parse(&format!("{at}/{}", network.length())).unwrap() == *network
            };
            let expected = list
                .iter()
                .filter(|(network, _)| holds(network))
                .max_by_key(|(network, _)| network.length())
                .map(|(_, value)| value);
            assert_eq!(networks.find(at), expected, "seed {seed}: {at}");
        }
    }
}

#[test]
fn ranges_agree_with_a_table() {
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut ranges, mut table) = (Ranges::default(), [None; 64]);
        for value in 0..12 {
            let start = random.u32(..64);
            let end = random.u32(start..64);
            ranges.insert(start, end, value);
            table[start as usize..=end as usize].fill(Some(value));
        }
        for (address, expected) in table.iter().enumerate() {
            assert_eq!(ranges.find(address as u32), *expected, "seed {seed}: {address}");
        }
    }
}
