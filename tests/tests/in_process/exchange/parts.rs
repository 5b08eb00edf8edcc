//! Tests of requests for parts of a page, and of subrequests.

use std::net::{IpAddr, SocketAddr};

use myriad_exchange::exchange::{AdminDenied, Exchange, Slice};
use myriad_exchange::runtime::Network;
use myriad_http::{HttpVersion, Method};
use myriad_serve::testing::TestSite;

fn posted(fields: &[(&str, &str)]) -> Box<Exchange> {
    TestSite::new("", "").received_request(HttpVersion::Http11, ("POST", "/whole?a"), fields)
}

#[test]
fn part_of_a_page_is_asked_for_by_get_whole_and_without_the_body() {
    let fields = [
        ("Range", "bytes=0-1"),
        ("If-Range", "\"a\""),
        ("If-None-Match", "\"a\""),
        ("If-Match", "\"a\""),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("If-Unmodified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("Accept-Encoding", "gzip"),
        ("Content-Length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("Expect", "100-continue"),
        ("TE", "trailers"),
        ("Upgrade", "websocket"),
        ("Cookie", "a=b"),
        ("Host", "a.test"),
    ];
    let mut whole = posted(&fields);
    whole.request.route.host = b"a.test".to_vec();
    let part = whole.child(b"/part", b"b").expect("a part").request;
    assert_eq!(part.received.head.method(), Method::Get);
    let names: Vec<_> =
        part.received.head.fields().iter().map(|(name, _)| name.escape_ascii().to_string()).collect();
    assert_eq!(names, ["Cookie", "Host"]);
    assert_eq!(
        (&part.route.uri[..], &part.route.args[..], &part.route.host[..]),
        (&b"/part"[..], &b"b"[..], &b"a.test"[..])
    );
    assert!(part.route.internal, "a subrequest may reach an internal location");
    assert_eq!(whole.request.received.head.method(), Method::Post, "the parent request is unchanged");
}

#[test]
fn slice_has_its_own_time_in_both_units() {
    let mut whole = posted(&[]);
    whole.request.received.set_time_us(1000);
    let slice = whole.piece(Slice { start: 0, size: 1 }).expect("a slice").request.received;
    assert!(slice.at_us > 1000);
    assert_eq!(slice.at_us / 1000, slice.at_ms);
}

#[test]
fn parts_stand_in_each_other_as_deep_as_in_nginx_and_no_deeper() {
    let mut exchange = posted(&[]);
    for depth in 1..=51 {
        exchange = exchange.child(b"/", b"").unwrap_or_else(|_| panic!("{depth}"));
    }
    assert!(exchange.child(b"/", b"").is_err());
}

#[test]
fn request_that_was_passed_on_is_not_from_near() {
    assert_eq!(posted(&[("X-Other", "1")]).request.may_administer(None), Ok(()));
    for field in ["X-Forwarded-For", "x-forwarded-host", "Forwarded", "Via", "X-Real-IP"] {
        let passed_on = posted(&[(field, "127.0.0.1")]);
        assert_eq!(passed_on.request.may_administer(None), Err(AdminDenied::Proxied), "{field}");
    }
}

#[test]
fn address_that_a_proxy_gave_has_to_be_covered_and_the_proxys_own_too() {
    let ip = |text: &str| text.parse::<IpAddr>().expect("an address");
    let among = |from: &[Network], given: Option<&str>| {
        let mut exchange = posted(&[]);
        exchange.request.received.real = given.map(|given| SocketAddr::new(ip(given), 0));
        exchange.request.may_administer(Some(from))
    };
    let (near, office) = (Network::Cidr(ip("127.0.0.1"), 32), Network::Cidr(ip("192.0.2.0"), 24));
    assert_eq!(among(&[near], None), Ok(()));
    assert_eq!(among(&[office], None), Err(AdminDenied::NotInAllowList));
    assert_eq!(among(&[near], Some("192.0.2.7")), Err(AdminDenied::ForwardedNotInAllowList));
    assert_eq!(
        among(&[office], Some("192.0.2.7")),
        Err(AdminDenied::NotInAllowList),
        "a client behind an untrusted proxy is not admitted"
    );
    assert_eq!(among(&[near, office], Some("192.0.2.7")), Ok(()));
    // An IPv4-mapped IPv6 address is treated like the IPv4 address.
    assert_eq!(among(&[near, office], Some("::ffff:192.0.2.7")), Ok(()));
}
