//! Tests of `status_zone`.

use myriad_exchange::traffic::{TrafficSnapshot, ZoneKind};
use myriad_serve::testing::TestSite;

fn zones(http: &str, server: &str) -> Vec<(ZoneKind, String, bool)> {
    let site = TestSite::new(http, server);
    let runtime = std::sync::Arc::clone(&site.exchange("/", &[]).request.site.runtime);
    let now = TrafficSnapshot::read(&runtime);
    let of = |kind, zones: Vec<myriad_exchange::traffic::ZoneSums>| {
        zones.into_iter().map(move |zone| (kind, zone.name, zone.is_named))
    };
    of(ZoneKind::Server, now.servers).chain(of(ZoneKind::Location, now.locations)).collect()
}

#[test]
fn servers_are_counted_by_their_zone_else_by_their_first_name() {
    let server = |name: &str, named| (ZoneKind::Server, name.to_owned(), named);
    let others = "server { listen 127.0.0.1:8080; server_name b.test c.test; }
        server { listen 127.0.0.1:8080; server_name d.test; status_zone shop; }
        server { listen 127.0.0.1:8080; server_name e.test; status_zone shop; }";
    let expected = [server("_", false), server("b.test", false), server("shop", true)];
    assert_eq!(zones(others, ""), expected);
}

#[test]
fn locations_within_have_the_zone_of_the_one_around_them() {
    let site = TestSite::new(
        "",
        "status_zone whole;
        location / { }
        location /a { status_zone a; location /a/b { } location /a/c { status_zone c; } location /a/d { status_zone off; } }",
    );
    for (target, expected) in
        [("/", None), ("/a", Some("a")), ("/a/b", Some("a")), ("/a/c", Some("c")), ("/a/d", None)]
    {
        let exchange = site.exchange(target, &[]);
        let zone = exchange.request.place().logs.traffic.as_ref().map(|zone| zone.name().to_owned());
        assert_eq!(zone.as_deref(), expected, "{target}");
        assert_eq!(exchange.request.server().traffic.name(), "whole");
    }
}
