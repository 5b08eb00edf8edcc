//! Active health checks of upstream servers: `health_check` in `http` and in `stream`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use myriad_tests::{Client, HttpOrigin, Place, Server, binary, wait_for};

/// Origin that responds with its name, and whose `/health` fails on request of the test.
struct Sick {
    origin: HttpOrigin,
    is_sick: Arc<AtomicBool>,
}

impl Sick {
    fn start(name: &'static str) -> Self {
        let is_sick = Arc::<AtomicBool>::default();
        let told = Arc::clone(&is_sick);
        let origin = HttpOrigin::start(move |call| {
            let status =
                if call.target == "/health?deep" && told.load(SeqCst) { "500 Sick" } else { "200 OK" };
            call.answer(&format!("HTTP/1.1 {status}"), name);
        });
        Self { origin, is_sick }
    }
}

/// Returns the number of responses of each server to eight requests; failures are not counted.
fn answering(server: &Server) -> (usize, usize) {
    let texts: Vec<String> = (0..8).map(|_| server.get("/").text()).collect();
    let count = |who: &str| texts.iter().filter(|text| *text == who).count();
    (count("one"), count("two"))
}

/// Returns the state of a server from `myriad upstream ls`.
fn state_of(server: &Server, address: &str) -> String {
    let mut command = Command::new(binary());
    command
        .args(["upstream", "ls", "pair", address, "--json", "-p"])
        .arg(server.folder())
        .args(["-c", "myriad.conf"]);
    let told = String::from_utf8_lossy(&command.output().expect("myriad starts").stdout).into_owned();
    let (_, state) = told.split_once("\"state\":\"").unwrap_or_default();
    state.split('"').next().unwrap_or_default().to_owned()
}

/// Starts a site with two origins; returns its configuration with these parameters of `health_check` as well.
fn site(words: &str) -> (Server, String, [Sick; 2]) {
    let origins = [Sick::start("one"), Sick::start("two")];
    let http = format!(
        "upstream pair {{ server {}; server {}; }}
        match well {{ status 200; }}
        server {{ listen 127.0.0.1:@PORT@;
            location / {{ proxy_pass http://pair/base/; proxy_set_header X-Probe $request_uri; {words} }} }}",
        origins[0].origin.address, origins[1].origin.address
    );
    (Server::start(Place::new(), &http), http, origins)
}

const CHECK: &str = "health_check interval=20ms uri=/health?deep match=well fails=2;";

#[test]
fn a_sick_server_gets_no_requests_until_it_is_well_again_over_reloads_too() {
    let (server, http, [_one, two]) = site(CHECK);
    assert_eq!(answering(&server), (4, 4));
    two.is_sick.store(true, SeqCst);
    let address = two.origin.address.clone();
    server.log_has(&format!(
        "server {address} of upstream \"pair\" is unhealthy: it responded with status 500"
    ));
    assert_eq!((answering(&server), state_of(&server, &address)), ((8, 0), "unhealthy".to_owned()));
    let probe =
        two.origin.heads().into_iter().find(|head| head.starts_with("GET /health?deep ")).expect("a check");
    assert!(probe.contains("Host: pair\n") && probe.contains("X-Probe: /health?deep\n"), "{probe}");
    let reloaded = http.replace("location / {", "location /new { return 200 new; } location / {");
    server.reload(&reloaded);
    wait_for("the reload", || server.get("/new").text() == "new");
    assert_eq!(answering(&server), (8, 0));
    two.is_sick.store(false, SeqCst);
    server.log_has(&format!("server {address} of upstream \"pair\" is healthy"));
    assert_eq!(answering(&server), (4, 4));
    // Without checks, the earlier results no longer apply.
    two.is_sick.store(true, SeqCst);
    wait_for("the sick server", || state_of(&server, &address) == "unhealthy");
    server.reload(&reloaded.replace(CHECK, "").replace("return 200 new", "return 200 newer"));
    wait_for("the reload", || server.get("/new").text() == "newer");
    assert_eq!(answering(&server), (4, 4));
}

#[test]
fn a_mandatory_check_is_passed_before_the_first_request_comes() {
    let (server, _, [one, two]) = site(
        "health_check interval=20ms uri=/health?deep mandatory passes=3 fails=100000 keepalive_time=1m;",
    );
    two.is_sick.store(true, SeqCst);
    wait_for("the first", || state_of(&server, &one.origin.address) == "up");
    let second = state_of(&server, &two.origin.address);
    // The three checks before the state change may have passed.
    if second == "checking" {
        assert_eq!(answering(&server), (8, 0));
    }
    two.is_sick.store(false, SeqCst);
    wait_for("the second", || state_of(&server, &two.origin.address) == "up");
    assert_eq!(answering(&server), (4, 4));
}

#[test]
fn unresponsive_or_unreachable_server_is_unhealthy_and_requests_fail_immediately() {
    let port = Place::new().port;
    let http = format!(
        "upstream pair {{ server 127.0.0.1:{port}; }}
        server {{ listen 127.0.0.1:@PORT@; location / {{ proxy_pass http://pair; health_check interval=20ms; }} }}"
    );
    let server = Server::start(Place::new(), &http);
    server.log_has("is unhealthy: connect() failed");
    assert_eq!(server.get("/").status, 502);
    server.log_has("no live upstreams");
    let _listener = TcpListener::bind(("127.0.0.1", port)).expect("the port");
    // It accepts connections but never responds, which counts as a failure.
    assert_eq!(state_of(&server, &format!("127.0.0.1:{port}")), "unhealthy");
}

/// Starts a server with a custom protocol: it responds to `ping` with `pong`, unless its flag is set, and to any other
/// input with its name.
fn chatter(name: &'static str) -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let is_sick = Arc::<AtomicBool>::default();
    let told = Arc::clone(&is_sick);
    // The thread terminates with the process of the test.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut said = [0; 4];
            if stream.read_exact(&mut said).is_ok() {
                let answer = match &said {
                    b"ping" if told.load(SeqCst) => "gone",
                    b"ping" => "pong",
                    _ => name,
                };
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    (address, is_sick)
}

/// Creates a self-signed certificate for a host.
fn certificate_of(host: &str, place: &Place) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", &format!("/CN={host}")])
        .args(["-addext", &format!("subjectAltName=DNS:{host}")])
        .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout"])
        .arg(place.path("own.key"))
        .arg("-out")
        .arg(place.path("own.crt"))
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[test]
fn check_of_stream_verifies_the_name_that_sessions_verify() {
    for name in ["proxy_ssl_name backend.test:443;", "set $peer backend.test; proxy_ssl_name $peer;"] {
        let place = Place::new();
        certificate_of("backend.test", &place);
        let stream = format!(
            "stream {{
                upstream pair {{ server unix:@DIR@/peer.sock; }}
                server {{ listen unix:@DIR@/peer.sock ssl; return here;
                    ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key; }}
                server {{ listen 127.0.0.1:@PORT@; proxy_pass pair; {name}
                    proxy_ssl on; proxy_ssl_verify on; proxy_ssl_trusted_certificate @DIR@/own.crt;
                    health_check interval=20ms mandatory; }} }}"
        );
        let main = place.fill(&stream);
        let server = Server::start_with(place, &main, "");
        let address = server.fill("unix:@DIR@/peer.sock");
        wait_for(name, || state_of(&server, &address) == "up");
        assert_eq!(String::from_utf8_lossy(&Client::connect(server.port).rest()), "here", "{name}");
    }
}

#[test]
fn streams_are_checked_by_what_is_sent_and_expected() {
    let ((one, _), (two, is_sick)) = (chatter("one"), chatter("two"));
    let place = Place::new();
    let stream = format!(
        "stream {{
            upstream pair {{ server {one}; server {two}; }}
            match alive {{ send ping; expect ~ \"^p.ng$\"; }}
            server {{ listen 127.0.0.1:@PORT@; proxy_pass pair;
                health_check interval=20ms match=alive; health_check_timeout 10s; }} }}"
    );
    let main = place.fill(&stream);
    let server = Server::start_with(place, &main, "");
    let said = || {
        let mut client = Client::connect(server.port);
        client.send("name");
        String::from_utf8_lossy(&client.rest()).into_owned()
    };
    let said = || {
        let mut all: Vec<String> = (0..4).map(|_| said()).collect();
        all.sort();
        all.concat()
    };
    assert_eq!(said(), "oneonetwotwo");
    is_sick.store(true, SeqCst);
    server.log_has(&format!("server {two} of upstream \"pair\" is unhealthy"));
    assert_eq!((said(), state_of(&server, &two)), ("oneoneoneone".to_owned(), "unhealthy".to_owned()));
    is_sick.store(false, SeqCst);
    server.log_has(&format!("server {two} of upstream \"pair\" is healthy"));
    assert_eq!(said(), "oneonetwotwo");
}
