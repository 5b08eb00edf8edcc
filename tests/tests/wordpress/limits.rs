//! Limits of client networks behind a trusted proxy.

use myriad_tests::{Answer, Place, Request, Server, WordPress};

use super::shared::echo;

/// A server behind a proxy that sends the client's address in `X-Real-IP`, with `change` made to the preset.
fn serve(site: &WordPress, from: &str, to: &str) -> Server {
    site.serve_changed(Place::new(), &site.php().display().to_string(), |preset| {
        let changed = preset.replacen(from, to, 1);
        assert_ne!(changed, preset);
        changed.replacen("server_tokens off;", "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;", 1)
    })
}

fn fetch(server: &Server, client: &str, target: &str) -> Answer {
    server.fetch(&Request::get(target).host("site.example").field("X-Real-IP", client))
}

#[test]
fn new_queries_of_one_network_slow_no_other_and_acting_arguments_reach_php() {
    let site = WordPress::shared();
    echo(&site);
    let server = serve(
        &site,
        "origin_query_limit rate=120r/m burst=100 wait=10s",
        "origin_query_limit rate=1r/m burst=3 wait=0",
    );
    for (robot, neighbour, visitor) in [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", "2001:db8:1:3::1"),
        ("192.0.2.1", "192.0.2.200", "198.51.100.1"),
    ] {
        let status = |client: &str, path: &str, number: u32| {
            fetch(&server, client, &format!("{path}?filter={client}{number}")).status
        };
        assert_eq!([1, 2, 3].map(|number| status(robot, "/echo.php", number)), [200; 3], "{robot}");
        for path in ["/echo.php", "/echo.php/elsewhere"] {
            assert_eq!(status(neighbour, path, 4), 429, "{neighbour} {path}");
            assert_eq!(status(visitor, path, 4), 200, "{visitor} {path}");
        }
        assert_eq!(fetch(&server, robot, &format!("/echo.php?filter={robot}1")).cache(), "HIT");
        for query in [
            "add-to-cart=12",
            "add%2Dto-cart=12",
            "wc-api=WC_Gateway_Any&order=5&sign=ab",
            "wc-ajax=get_variation&product_id=3",
            "download_file=7&order=wc_order_x&key=k",
            "pay_for_order=true&key=wc_order_x",
            "cancel_order=true&order=5",
            "unapproved=5&moderation-hash=abcdef",
            "s=shoes&orderby=price",
            "mailpoet_router&endpoint=subscriptions&action=unsubscribe&data=x",
            "na=u&nk=5-abc",
            "edd-listener=IPN",
            "give-listener=IPN",
            "UNSUBSCRIBE=you%40example.org",
            "code=x&state=y",
            "filter=9&_wpnonce=x",
        ] {
            let answer = fetch(&server, robot, &format!("/echo.php?{query}"));
            assert_eq!((answer.status, answer.cache()), (200, "BYPASS"), "{robot} {query}");
            assert!(answer.text().contains(&format!("QUERY_STRING={query}\n")), "{query}: {}", answer.text());
        }
    }
}

#[test]
fn passwords_guessed_from_one_ipv6_network_are_counted_together() {
    let site = WordPress::shared();
    let server = serve(&site, "zone=login:1m  rate=20r/m", "zone=login:1m  rate=1r/m");
    let guess = |client: &str| {
        let form = Request::post("/wp-login.php", "log=nobody&pwd=guess&wp-submit=Log+In");
        let form = form.host("site.example").field("Content-Type", "application/x-www-form-urlencoded");
        server.fetch(&form.field("X-Real-IP", client)).status
    };
    let network = (0..21).map(|host| guess(&format!("2001:db8:a:b:{host:x}::1")));
    assert_eq!(network.filter(|status| *status == 200).count(), 21, "the burst and one more");
    assert_eq!(guess("2001:db8:a:b:ffff:1::2"), 429);
    assert_eq!(guess("2001:db8:a:c::1"), 200, "another network");
    assert_eq!(guess("192.0.2.1"), 200);
    assert_eq!(guess("192.0.2.2"), 200);
}
