//! Challenge before the origin: clients without a pass do not use the origin, and a real browser passes automatically.
//!
//! covers: origin_challenge $challenge_passed

use myriad_tests::{Answer, Origin, Place, Request, Server, challenge_of, chromium, solve_challenge};

const CONF: &str = "
    fastcgi_cache_path @DIR@/cache keys_zone=a:1m;
    server {
        listen 127.0.0.1:@PORT@; include fastcgi_params; set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;
        fastcgi_cache a; fastcgi_cache_key $request_uri; fastcgi_cache_valid 200 1h;
        add_header X-Cache $upstream_cache_status always; add_header X-Passed $challenge_passed always;
        origin_challenge $cookie_person$arg_person bits=10;
        location / { fastcgi_pass @PHP@; }
        location /own/ { fastcgi_cache_bypass 1; fastcgi_no_cache 1; fastcgi_pass @PHP@; }
        location /plain/ { fastcgi_cache off; fastcgi_pass @PHP@; }
        location /trusted/ { origin_challenge off; fastcgi_pass @PHP@; }
        location /few/ { origin_challenge 1 bits=8 passes=3; fastcgi_cache_bypass 1; fastcgi_no_cache 1; fastcgi_pass @PHP@; }
        location /many/ { origin_challenge 0 bits=8; origin_query_limit rate=1r/m burst=2 action=challenge; fastcgi_pass @PHP@; }
    }";

fn serve() -> (Server, Origin) {
    let mut place = Place::new();
    let origin =
        Origin::start(|call| call.answer("Content-Type: text/html", "<title>made by the origin</title>"));
    place.set("PHP", &origin.address);
    let conf = place.fill(CONF);
    (Server::start(place, &conf), origin)
}

/// Returns the challenge of a page, which caches must not store; `None` if the page is not a challenge.
fn challenge(answer: &Answer) -> Option<String> {
    let challenge = challenge_of(answer)?;
    assert_eq!(answer.status, 503);
    assert_eq!(answer.field("Cache-Control"), Some("no-store"));
    assert!(answer.field("X-Cache").is_none_or(|status| status != "HIT"));
    Some(challenge)
}

fn from(target: &str, address: &str) -> Request {
    Request::get(target).field("X-Real-IP", address).field("User-Agent", "Firefox")
}

#[test]
fn visitor_without_a_pass_costs_the_origin_nothing() {
    let (server, origin) = serve();
    for target in ["/a?person=1", "/own/?person=1", "/plain/?person=1"] {
        assert!(challenge(&server.get(target)).is_some(), "{target}");
        let posted = server.fetch(&Request::post(target, "body"));
        assert!(challenge(&posted).is_some(), "{target}");
    }
    assert_eq!(origin.count(), 0);
    // Other requests are not challenged, and stored pages are served to every client.
    assert_eq!(server.get("/a?person=0").cache(), "MISS");
    assert_eq!(server.get("/b").cache(), "MISS");
    let stored = server.fetch(&Request::get("/b").field("Cookie", "person=1"));
    assert_eq!((stored.status, stored.cache()), (200, "HIT"));
    assert_eq!(server.get("/trusted/?person=1").status, 200);
    server.log_has("the client needs a pass (origin_challenge)");
}

#[test]
fn pass_opens_the_origin_to_its_bearer_alone() {
    let (server, origin) = serve();
    let target = "/own/?person=1";
    let asked = challenge(&server.fetch(&from(target, "192.0.2.1"))).expect("a challenge");
    let pass = format!("theme=dark; myriad_pass={}", solve_challenge(&asked));
    let with = |address: &str, cookie: &str| server.fetch(&from(target, address).field("Cookie", cookie));
    let served = with("192.0.2.1", &pass);
    assert_eq!((served.status, served.field("X-Passed")), (200, Some("1")));
    assert_eq!(with("192.0.2.99", &pass).status, 200, "a pass is valid for all addresses of the network");
    assert_eq!(origin.count(), 2);
    for (address, cookie) in [
        ("192.0.3.1", pass.as_str()),
        ("192.0.2.1", &format!("myriad_pass={asked}.1")),
        ("192.0.2.1", "myriad_pass=1.99999999999.10.00000000000000000000000000000000.1"),
    ] {
        let refused = with(address, cookie);
        assert!(
            challenge(&refused).is_some() && refused.field("X-Passed") == Some("0"),
            "{address} {cookie}"
        );
    }
    assert_eq!(origin.count(), 2);
}

#[test]
fn new_queries_beyond_the_limit_need_a_pass_and_a_pass_opens_no_flood() {
    let (server, origin) = serve();
    let ask = |query: u32, cookie: &str| {
        server.fetch(&from(&format!("/many/?filter={query}"), "192.0.2.1").field("Cookie", cookie))
    };
    assert_eq!([1, 2].map(|query| ask(query, "").status), [200, 200]);
    let asked = challenge(&ask(3, "")).expect("a challenge");
    let pass = format!("myriad_pass={}", solve_challenge(&asked));
    assert_eq!([3, 4].map(|query| ask(query, &pass).status), [200, 200]);
    let beyond = ask(5, &pass);
    assert_eq!((beyond.status, beyond.field("Retry-After")), (429, Some("60")));
    assert_eq!(ask(4, "").cache(), "HIT");
    assert_eq!(origin.count(), 4);
}

#[test]
fn passes_of_one_network_are_bounded_and_open_no_flood_together() {
    let (server, origin) = serve();
    let fetch = |target: &str, client: &str, agent: &str, cookie: &str| {
        let request = Request::get(target).field("X-Real-IP", client).field("User-Agent", agent);
        server.fetch(&request.field("Cookie", cookie))
    };
    let pass = |target: &str, client: &str, agent: &str| {
        let asked = challenge(&fetch(target, client, agent, "")).expect("a challenge");
        format!("myriad_pass={}", solve_challenge(&asked))
    };
    // `passes=3`: the fourth pass of a /64 receives 429; another network and the first three passes are unaffected.
    let client = |number: u32| format!("2001:db8:1:2:{number:x}::1");
    let target = "/few/?person=1";
    let passes: Vec<_> =
        (0..4).map(|number| pass(target, &client(number), &format!("agent {number}"))).collect();
    let with = |number: usize| {
        let agent = format!("agent {number}");
        fetch(target, &client(number as u32), &agent, &passes[number]).status
    };
    assert_eq!([0, 1, 2, 3, 3, 0].map(with), [200, 200, 200, 429, 429, 200]);
    let elsewhere = pass(target, "2001:db8:1:3::1", "agent");
    assert_eq!(fetch(target, "2001:db8:1:3::1", "agent", &elsewhere).status, 200);
    // `burst=2`: each pass admits two new queries, and all passes of one network together eight.
    let before = origin.count();
    let filter = |number: u32, agent: &str, cookie: &str| {
        fetch(&format!("/many/?network={number}"), "192.0.2.1", agent, cookie).status
    };
    assert_eq!([0, 1].map(|number| filter(number, "agent", "")), [200, 200]);
    for holder in 0..6 {
        let agent = format!("agent {holder}");
        let cookie = pass(&format!("/many/?network={}", 10 + holder), "192.0.2.1", &agent);
        let statuses = [0, 1, 2].map(|number| filter(100 + 3 * holder + number, &agent, &cookie));
        let expected = if holder < 4 { [200, 200, 429] } else { [429; 3] };
        assert_eq!(statuses, expected, "{holder}");
    }
    assert_eq!(origin.count(), before + 2 + 8);
}

#[test]
fn real_browser_passes_by_itself() {
    let (server, origin) = serve();
    let url = format!("http://127.0.0.1:{}/a?person=1", server.port);
    let pages = || origin.calls().iter().filter(|uri| uri.contains("/a?")).count();
    let loaded = chromium::load(&server, &url, &[], pages);
    assert!(loaded.page.contains("made by the origin"), "{}", loaded.page);
    // The browser logs the status 503 of the first response.
    assert!(loaded.console.iter().all(|line| line.contains("503")), "{:?}", loaded.console);
    assert_eq!(pages(), 1);
}
