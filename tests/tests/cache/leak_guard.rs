//! covers: leak_guard
//! Leak guard: a response with data of the visitor whose request fetched it is not shared.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;

use myriad_tests::{
    Answer, Cached, Call, Client, Gate, Origin, Place, Request, Server, certificate, wait_for,
};

use super::with;

const RULES: &str = "fastcgi_cache_valid 1h; add_header Why $upstream_cache_reason always; \
    location = /status { stub_status; } location /api/ { api; } location = /metrics { metrics; }";
const COOKIE: &str = "name=Margarete; theme=dark";

/// Returns the value of the cookie `name`; `nobody` if the request has no such cookie.
fn name_of(call: &Call) -> String {
    let cookies = call.param("HTTP_COOKIE");
    cookies.split("; ").find_map(|pair| pair.strip_prefix("name=")).unwrap_or("nobody").to_owned()
}

/// Sends a page that greets the visitor by name.
fn greet(call: &mut Call) {
    let text = format!("<body>Hello, {}!", name_of(call));
    call.answer("Content-Type: text/html", text);
}

fn known(target: &str) -> Request {
    Request::get(target).field("Cookie", COOKIE)
}

fn why(answer: &Answer) -> &str {
    answer.field("Why").unwrap_or_default()
}

fn log(server: &Server) -> String {
    std::fs::read_to_string(server.path("error.log")).expect("a log")
}

/// Waits until the list of leaks contains a finding in this state.
fn wait_for_finding(server: &Server, state: &str) {
    let state = format!("\"state\":\"{state}\"");
    wait_for(&state, || server.get("/api/leaks").text().contains(&state));
}

/// Returns a counter of the leak guard in the metrics of the zone.
fn counter(server: &Server, name: &str) -> u64 {
    let begin = format!("myriad_cache_leak{name}_total{{zone=\"pages\"}} ");
    let text = server.get("/metrics").text();
    let value =
        text.lines().find_map(|line| line.strip_prefix(&begin)).unwrap_or_else(|| panic!("no {begin}"));
    value.parse().expect("a number")
}

/// Waits until `count` clients wait for a response, without the client that requests `/status`.
fn wait_for_clients(server: &Server, count: usize) {
    wait_for("clients that wait", || {
        let text = server.get("/status").text();
        let writing =
            text.split("Writing: ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
        writing.parse::<usize>().expect("a number") > count
    });
}

#[test]
fn page_with_the_value_of_a_cookie_is_for_its_client_alone() {
    let (server, origin) = with(RULES).start(greet);
    let own = server.fetch(&known("/account"));
    assert_eq!((own.text().as_str(), own.cache(), why(&own)), ("<body>Hello, Margarete!", "MISS", "leak"));
    // A request without cookies verifies the leak; its response is not stored.
    origin.wait_for(2);
    let other = server.get("/account");
    assert_eq!((other.text().as_str(), other.cache()), ("<body>Hello, nobody!", "MISS"));
    assert_eq!(["s", "_checks", "_unsearched"].map(|name| counter(&server, name)), [1, 1, 0]);
    server.log_has("it contains the value of the request's cookie \"name\" in the body (byte 13)");
    assert!(!log(&server).contains("Margarete"), "{}", log(&server));
}

#[test]
fn value_that_the_page_contains_without_the_visitor_is_a_coincidence() {
    let (server, _origin) = with(RULES).start(|call| {
        call.answer("Content-Type: text/html\nX-About: Margarete", "<body>An article about Margarete.");
    });
    assert_eq!(why(&server.fetch(&known("/article"))), "leak");
    // All requests have the value.
    wait_for("the page", || server.fetch(&known("/article")).cache() == "HIT");
}

#[test]
fn other_data_in_the_response_of_a_verification_does_not_hide_a_coincidence() {
    let rules = format!("{RULES} fastcgi_ignore_headers Set-Cookie;");
    let (server, _origin) = with(&rules).start(|call| {
        // A request without cookies gets a new cookie, which its page repeats before the value.
        let visit = format!("visit-{:08}", call.number);
        let (cookie, link) = if call.has("HTTP_COOKIE") {
            (String::new(), String::new())
        } else {
            (format!("\nSet-Cookie: visit={visit}"), format!("<a href='/?{visit}'>"))
        };
        let text = format!("<body>{link}An article about Margarete.");
        call.answer(&format!("Content-Type: text/html{cookie}"), text);
    });
    assert_eq!(why(&server.fetch(&known("/article"))), "leak");
    wait_for("the page", || server.fetch(&known("/article")).cache() == "HIT");
}

#[test]
fn argument_with_an_email_address_is_not_shared_although_it_cannot_be_verified() {
    let site = Cached { key: "$uri", ..with(RULES) };
    let (server, origin) = site.start(|call| {
        let text = format!("<body>{}", call.param("QUERY_STRING").replace("%40", "@"));
        call.answer("Content-Type: text/html", text);
    });
    assert_eq!(why(&server.get("/form?to=ann%40example.org")), "leak");
    assert_eq!(server.get("/form?page=2").text(), "<body>page=2");
    assert_eq!(origin.count(), 2);
}

#[test]
fn waiters_get_pages_of_their_own() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, origin) = with(RULES).start(move |call| {
        if call.number == 1 {
            held.pass();
        }
        greet(call);
    });
    let port = server.port;
    let fetch = |request: Request| thread::spawn(move || Client::connect(port).fetch(&request));
    let leader = fetch(known("/account"));
    wait_for_clients(&server, 1);
    let waiters: Vec<_> = (0..20).map(|_| fetch(Request::get("/account"))).collect();
    wait_for_clients(&server, 21);
    gate.open();
    assert_eq!(leader.join().expect("a page").text(), "<body>Hello, Margarete!");
    for waiter in waiters {
        assert_eq!(waiter.join().expect("a page").text(), "<body>Hello, nobody!");
    }
    assert!(origin.count() >= 21, "{} requests", origin.count());
}

#[test]
fn response_that_turns_out_to_be_personal_is_aborted_for_waiters() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, _origin) = with(RULES).start(move |call| {
        let name = name_of(call);
        call.answer("Content-Type: text/html", format!("<body>{}", "text ".repeat(2000)));
        if call.number == 1 {
            held.pass();
        }
        call.send(format!("Hello, {name}!"));
        call.send("The end.");
    });
    let mut leader = server.connect();
    leader.send(known("/account").bytes());
    leader.until(|bytes| bytes.len() > 5000);
    let mut waiter = server.connect();
    waiter.send(Request::get("/account").bytes());
    let first = waiter.until(|bytes| bytes.len() > 5000);
    gate.open();
    let rest = leader.until(|bytes| bytes.windows(8).any(|text| text == b"The end."));
    assert!(String::from_utf8_lossy(&rest).contains("Hello, Margarete!"));
    let text = [first, waiter.rest()].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(!text.contains("Hello") && !text.contains("The end."), "{text}");
}

#[test]
fn stored_fields_are_examined() {
    let (server, _origin) = with(RULES).start(|call| {
        let name = name_of(call);
        call.answer(&format!("Content-Type: text/html\nX-Name: {name}"), "page");
    });
    assert_eq!(why(&server.fetch(&known("/"))), "leak");
    server.log_has("value of the request's cookie \"name\" in field X-Name");
    assert_eq!(server.get("/").field("X-Name"), Some("nobody"));
}

#[test]
fn fields_of_a_confirmation_are_examined() {
    let rules = format!("{RULES} fastcgi_cache_revalidate on; cache_rfc9111 on;");
    let (server, _origin) = with(&rules).start(|call| {
        let name = name_of(call);
        let fields = format!("ETag: \"a\"\nCache-Control: max-age=1\nX-Name: {name}");
        if call.has("HTTP_IF_NONE_MATCH") {
            call.answer(&format!("Status: 304\n{fields}"), "");
        } else {
            call.answer(&format!("Content-Type: text/html\n{fields}"), "page");
        }
    });
    assert_eq!(server.get("/").field("X-Name"), Some("nobody"));
    wait_for("the expiry", || server.fetch(&known("/")).cache() != "HIT");
    server.log_has("value of the request's cookie \"name\" in field X-Name");
    wait_for_finding(&server, "confirmed");
    assert_eq!(server.get("/").field("X-Name"), Some("nobody"));
}

#[test]
fn response_that_cannot_be_compared_verifies_nothing() {
    for fault in ["status", "length", "coding"] {
        let (server, _origin) = with(RULES).start(move |call| {
            if call.has("HTTP_COOKIE") {
                return greet(call);
            }
            match fault {
                "status" => call.answer("Status: 404\nContent-Type: text/html", "<body>nothing"),
                "length" => call.answer("Content-Type: text/html\nContent-Length: 1000", "<body>Hello"),
                _ => call.answer("Content-Type: text/html\nContent-Encoding: unknown", "Hello"),
            }
        });
        assert_eq!(why(&server.fetch(&known("/account"))), "leak");
        wait_for_finding(&server, "unverified");
    }
}

#[test]
fn verification_whose_response_is_too_long_for_memory_is_completed() {
    let (server, _origin) = Cached { zone: "max_size=0", ..with(RULES) }.start(|call| {
        let is_anonymous = !call.has("HTTP_COOKIE");
        greet(call);
        if is_anonymous {
            call.send("text ".repeat(4 << 20));
        }
    });
    assert_eq!(why(&server.fetch(&known("/account"))), "leak");
    wait_for_finding(&server, "confirmed");
}

#[test]
fn client_that_copies_text_of_pages_keeps_few_of_them_out_of_the_cache() {
    let page = |call: &mut Call| call.answer("Content-Type: text/html", "<body>An article about Margarete.");
    let (server, _origin) = with(RULES).start(page);
    for number in 0..16 {
        assert_eq!(why(&server.fetch(&known(&format!("/{number}")))), "leak");
    }
    assert_eq!(why(&server.fetch(&known("/16"))), "leak");
    assert_eq!((server.get("/16").cache(), server.get("/16").cache()), ("MISS", "HIT"));
}

#[test]
fn request_with_too_many_values_does_not_fill_the_cache() {
    let page = |call: &mut Call| call.answer("Content-Type: text/html", "<body>page");
    let (server, _origin) = with(RULES).start(page);
    let cookies: Vec<String> = (0..100).map(|number| format!("c{number}=value-of-{number}")).collect();
    let many = Request::get("/page").field("Cookie", &cookies.join("; "));
    for _ in 0..2 {
        let answer = server.fetch(&many);
        assert_eq!((answer.cache(), why(&answer)), ("MISS", "unsearched"));
    }
    assert_eq!(["s", "_checks", "_unsearched"].map(|name| counter(&server, name)), [0, 0, 2]);
    assert_eq!((server.get("/page").cache(), server.get("/page").cache()), ("MISS", "HIT"));
    assert_eq!(server.fetch(&many).cache(), "HIT");
}

#[test]
fn body_that_cannot_be_decoded_is_not_shared_if_the_request_has_values() {
    let page = |call: &mut Call| call.answer("Content-Type: text/html\nContent-Encoding: unknown", "text");
    let (server, _origin) = with(RULES).start(page);
    let answer = server.fetch(&known("/page"));
    assert_eq!((answer.cache(), why(&answer)), ("MISS", "unsearched"));
    assert_eq!((server.get("/page").cache(), server.get("/page").cache()), ("MISS", "HIT"));
}

#[test]
fn subject_of_a_client_certificate_is_found() {
    let (mut place, other) = (Place::new(), Place::new());
    certificate(&place.path("own.crt"), &place.path("own.key"));
    place.set("TLS", &other.port.to_string());
    let rules = format!(
        "{RULES} listen 127.0.0.1:@TLS@ ssl; ssl_certificate own.crt; ssl_certificate_key own.key; \
         ssl_verify_client optional_no_ca; fastcgi_param SSL_CLIENT_S_DN $ssl_client_s_dn;"
    );
    let origin = Origin::start(|call| {
        let text = format!("<body>Hello, {}!", call.param("SSL_CLIENT_S_DN").replace("CN=", ""));
        call.answer("Content-Type: text/html", text);
    });
    let server = Cached { key: "$request_uri", ..with(&rules) }.start_before(place, &origin.address);
    let mut client = Command::new("openssl")
        .args(["s_client", "-quiet", "-connect", &format!("127.0.0.1:{}", other.port), "-cert"])
        .arg(server.path("own.crt"))
        .arg("-key")
        .arg(server.path("own.key"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl runs");
    let request = b"GET /page HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    client.stdin.as_mut().expect("piped").write_all(request).expect("openssl reads");
    let output = client.wait_with_output().expect("openssl ends");
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(answer.contains("Hello, localhost!") && answer.contains("Why: leak"), "{answer}");
    server.log_has("subject of the client certificate in the body");
    assert_eq!(server.get("/page").text(), "<body>Hello, !");
}

#[test]
fn new_cookies_are_examined() {
    let rules = format!("{RULES} fastcgi_ignore_headers Set-Cookie;");
    let (server, origin) = with(&rules).start(|call| {
        let visit = format!("visit-{:08}", call.number);
        let head = format!("Content-Type: text/html\nSet-Cookie: visit={visit}");
        call.answer(&head, format!("<body><a href='/?visit={visit}'>"));
    });
    for _ in 0..3 {
        let answer = server.get("/new");
        assert_eq!((answer.cache(), why(&answer)), ("MISS", "leak"));
    }
    assert_eq!(origin.count(), 3);
    server.log_has("value of the new cookie \"visit\" in the body");
}

#[test]
fn compressed_responses_are_examined() {
    // Without gzip in this location, the response is stored in the coding of the origin.
    let rules = format!("{RULES} gzip off;");
    let (server, _origin) = with(&rules).start(|call| {
        // A few compressed bytes are several windows of text.
        let text = format!("<body>{}Hello, {}!", "text ".repeat(60_000), name_of(call));
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).expect("memory");
        let body = encoder.finish().expect("memory");
        call.answer("Content-Type: text/html\nContent-Encoding: gzip", body);
    });
    let gzip = |request: Request| server.fetch(&request.field("Accept-Encoding", "gzip")).cache().to_owned();
    assert_eq!(gzip(known("/account")), "MISS");
    server.log_has("in the body (byte 300013)");
    assert_eq!(gzip(Request::get("/account")), "MISS");
}

#[test]
fn pages_of_logged_in_visitors_are_not_shared_and_the_guard_can_be_off() {
    let page =
        |call: &mut Call| call.answer("Content-Type: text/html", "<body class=\"home logged-in\">page");
    let (server, origin) = with(RULES).start(page);
    assert_eq!(why(&server.fetch(&known("/"))), "leak");
    // The page is the same without cookies, so that it is a coincidence.
    wait_for("the page", || server.fetch(&known("/")).cache() == "HIT");
    // A visitor without cookies is not logged in.
    assert_eq!((server.get("/other").cache(), server.get("/other").cache()), ("MISS", "HIT"));
    let (off, other) = with("fastcgi_cache_valid 1h; leak_guard off;").start(greet);
    assert_eq!(off.fetch(&known("/account")).cache(), "MISS");
    assert_eq!(off.get("/account").text(), "<body>Hello, Margarete!");
    assert_eq!((origin.count() >= 2, other.count()), (true, 1));
}

#[test]
fn values_in_the_key_or_in_vary_are_no_leak() {
    let rules = "fastcgi_cache_valid 1h; location /keyed { fastcgi_cache_key $uri$http_cookie; fastcgi_pass @ORIGIN@; }";
    let (server, origin): (Server, Origin) = with(rules).start(|call| {
        let text = format!("<body class=\"logged-in\">Hello, {}!", name_of(call));
        let vary = if call.uri() == "/vary" { "Vary: Cookie" } else { "X-None: 1" };
        call.answer(&format!("Content-Type: text/html\n{vary}"), text);
    });
    for target in ["/keyed", "/vary"] {
        assert_eq!(server.fetch(&known(target)).cache(), "MISS");
        assert_eq!(server.fetch(&known(target)).cache(), "HIT");
        assert_eq!(server.get(target).text(), "<body class=\"logged-in\">Hello, nobody!");
    }
    assert_eq!(origin.count(), 4);
}
