//! Limits of client networks behind a trusted proxy.

use myriad_tests::{Answer, Place, Request, Server, WordPress};

use super::personal_pages::echo;

/// Starts a server that trusts a proxy, which sends the client's address in `X-Real-IP`. Each pair of texts is a replacement in the preset.
fn serve(site: &WordPress, changes: &[(&str, &str)]) -> Server {
    site.serve_changed(Place::new(), &site.php().display().to_string(), |preset| {
        let changed = changes.iter().fold(preset.clone(), |preset, (from, to)| {
            assert!(preset.contains(from), "{from}");
            preset.replacen(from, to, 1)
        });
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
        &[(
            "origin_query_limit rate=120r/m burst=100 wait=10s",
            "origin_query_limit rate=1r/m burst=3 wait=0",
        )],
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
    let server = serve(&site, &[("zone=login:1m  rate=20r/m", "zone=login:1m  rate=1r/m")]);
    let guess = |client: &str| {
        let form = Request::post("/wp-login.php", "log=nobody&pwd=guess&wp-submit=Log+In");
        let form = form.host("site.example").field("Content-Type", "application/x-www-form-urlencoded");
        server.fetch(&form.field("X-Real-IP", client)).status
    };
    let network = (0..21).map(|host| guess(&format!("2001:db8:a:b:{host:x}::1")));
    assert_eq!(network.filter(|status| *status == 200).count(), 21, "the burst and one further request");
    assert_eq!(guess("2001:db8:a:b:ffff:1::2"), 429);
    assert_eq!(guess("2001:db8:a:c::1"), 200, "another network");
    assert_eq!(guess("192.0.2.1"), 200);
    assert_eq!(guess("192.0.2.2"), 200);
}

#[test]
fn passwords_guessed_at_a_renamed_login_page_are_counted_as_at_wp_login() {
    let site = WordPress::shared();
    echo(&site);
    let server = serve(&site, &[("zone=login:1m  rate=20r/m", "zone=login:1m  rate=1r/m")]);
    let send = |client: &str, target: &str, media_type: &str, body: &str| {
        let form = Request::post(target, body).host("site.example").field("Content-Type", media_type);
        server.fetch(&form.field("X-Real-IP", client)).status
    };
    let form = "application/x-www-form-urlencoded";
    let part = |name: &str| format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\na\r\n");
    let guesses = [
        (form, "log=nobody&pwd=guess".to_owned()),
        (form, "x=%6c&+l%6Fg[]=nobody&pwd=guess".to_owned()),
        (form, "username=nobody&password=guess&login=1".to_owned()),
        ("multipart/form-data; boundary=b", format!("{}{}--b--\r\n", part("log"), part("  pwd"))),
    ];
    for number in 0..21 {
        let (media_type, body) = &guesses[number % guesses.len()];
        assert_eq!(send("192.0.2.1", "/echo.php/enter", media_type, body), 200, "{number}");
    }
    for (media_type, body) in &guesses {
        for target in ["/echo.php/enter", "/echo.php?x=1", "/wp-login.php"] {
            assert_eq!(send("192.0.2.1", target, media_type, body), 429, "{target} {body}");
        }
    }
    for other in ["log=nobody", "pwd=guess", "blog=1&pwd=2", "comment=log%3D1%26pwd%3D2", "log%3D1&pwd%3D2"] {
        assert_eq!(send("192.0.2.1", "/echo.php/enter", form, other), 200, "{other}");
    }
    let reading = Request::get("/echo.php/enter?log=a&pwd=b").host("site.example");
    assert_eq!(server.fetch(&reading.field("X-Real-IP", "192.0.2.1")).status, 200);
    assert_eq!(send("192.0.2.2", "/echo.php/enter", form, &guesses[0].1), 200, "another client");
}

#[test]
fn padding_hides_no_password_from_the_limit() {
    let site = WordPress::shared();
    echo(&site);
    let changes = [
        ("zone=long_forms:1m rate=2r/s", "zone=long_forms:1m rate=1r/m"),
        ("zone=long_forms burst=60 delay=40", "zone=long_forms burst=3 nodelay"),
    ];
    let server = serve(&site, &changes);
    let send = |target: &str, length: usize, client: &str| {
        let body = format!("pad={}&log=nobody&pwd=guess", "x".repeat(length));
        let form = Request::post(target, body).host("site.example");
        let form = form.field("Content-Type", "application/x-www-form-urlencoded");
        server.fetch(&form.field("X-Real-IP", client)).status
    };
    let targets = ["/echo.php", "/echo.php/wp-json/a", "/echo.php?rest_route=/a", "/wp-admin/admin-ajax.php"];
    for target in targets {
        assert_ne!(send(target, 70_000, "192.0.2.1"), 429, "{target}");
    }
    for target in targets {
        assert_eq!(send(target, 70_000, "192.0.2.1"), 429, "{target}");
        assert_eq!(send(target, 59_990, "192.0.2.1"), 429, "{target}");
    }
    assert_ne!(
        send("/echo.php", 59_000, "192.0.2.1"),
        429,
        "a body of this length is searched, so only the limit for logins applies"
    );
    assert_ne!(send("/echo.php", 70_000, "192.0.2.2"), 429, "another client");
}
