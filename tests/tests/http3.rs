//! What HTTP/3 has of its own: handshakes, addresses that change, early data, ends and restarts, clients that break rules.

use std::time::Duration;

use myriad_tests::{
    Network, Place, QuicClient, QuicVisitor, Request, Server, Signal, certificate, signal, wait_for,
};

/// A server for QUIC and TLS on one port: `http` stands before its `server`, `directives` in it.
fn start(main: &str, http: &str, directives: &str) -> Server {
    let place = Place::new();
    certificate(&place.path("own.crt"), &place.path("own.key"));
    place.write("html/a.txt", "a file");
    Server::start_with(place, main, &text(http, directives))
}

fn text(http: &str, directives: &str) -> String {
    format!(
        "log_format own '$http3 $server_protocol $request $status $ssl_early_data';
         ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key; {http}
         server {{ listen 127.0.0.1:@PORT@ ssl; listen 127.0.0.1:@PORT@ quic; server_name localhost;
           root @DIR@/html; access_log @DIR@/own.log own; {directives} }}"
    )
}

fn connect(server: &Server) -> QuicClient {
    QuicVisitor::new().connect(server.port).expect("a connection")
}

#[test]
fn clients_of_tcp_are_told_where_http3_is_unless_the_site_says_it() {
    let server = start(
        "",
        "",
        "location /own { add_header Alt-Svc clear always; return 200 x; } location /missing { return 404; }",
    );
    let alternatives = |target: &str| {
        let url = format!("https://127.0.0.1:{}{target}", server.port);
        let output = std::process::Command::new("curl").args(["-skI", "--http1.1", &url]).output();
        let head = String::from_utf8_lossy(&output.expect("curl").stdout).into_owned();
        let lines = head.lines().filter_map(|line| line.strip_prefix("Alt-Svc: ").map(str::to_owned));
        lines.collect::<Vec<_>>()
    };
    let own = format!("h3=\":{}\"; ma=86400", server.port);
    for target in ["/a.txt", "/missing"] {
        assert_eq!(alternatives(target), std::slice::from_ref(&own), "{target}");
    }
    assert_eq!(alternatives("/own"), ["clear"]);
    drop(server);
    let silent = start("", "http3 off;", "");
    assert_eq!(silent.read("error.log").matches("emerg").count(), 0);
    let error = QuicVisitor::new().connect(silent.port).expect_err("nobody speaks HTTP/3");
    assert!(error.contains("120") || error.contains("HTTP/3"), "{error}");
}

#[test]
fn server_is_chosen_by_the_name_in_the_handshake() {
    let server = start(
        "",
        "server { listen 127.0.0.1:@PORT@ quic; server_name closed.test; ssl_reject_handshake on; }
         server { listen 127.0.0.1:@PORT@ quic; server_name mute.test; http3 off; }
         server { listen 127.0.0.1:@PORT@ quic; server_name two.test; return 200 'two $ssl_server_name'; }",
        "",
    );
    let visitor = QuicVisitor::new();
    let mut two = visitor.connect_as(server.port, "two.test").expect("a connection");
    let answer = two.fetch(&Request::get("/").host("two.test")).expect("an answer");
    assert_eq!(answer.text(), "two two.test");
    let misled = two.fetch(&Request::get("/").host("mute.test")).expect("an answer");
    assert_eq!(misled.status, 421);
    for (name, alert) in [("closed.test", "112"), ("mute.test", "120")] {
        let error = visitor.connect_as(server.port, name).expect_err("refused");
        assert!(error.contains(alert) || error.contains("no server") || error.contains("HTTP/3"), "{error}");
    }
}

#[test]
fn retry_is_asked_for_where_the_configuration_says_so() {
    for (directive, expected) in [("quic_retry on;", true), ("", false)] {
        let server = start("", directive, "");
        let network = Network::before(server.port);
        let mut client = QuicVisitor::new().connect(network.port).expect("a connection");
        assert_eq!(client.get("/a.txt").text(), "a file");
        assert_eq!(network.saw_retry(), expected, "{directive}");
    }
}

#[test]
fn early_requests_are_answered_and_those_that_change_something_wait_for_the_handshake() {
    let server = start(
        "",
        "ssl_early_data on; quic_retry on;",
        "location /echo { return 200 '$request_method $ssl_early_data'; }",
    );
    let visitor = QuicVisitor::new();
    let mut first = visitor.connect(server.port).expect("a connection");
    assert_eq!(first.get("/echo").text(), "GET ");
    first.wait(Duration::from_millis(100));
    drop(first);
    let mut second = visitor.connect_early(server.port).expect("a session to resume");
    assert_eq!(second.get("/echo").text(), "GET 1");
    assert!(second.early_data_taken());
    second.wait(Duration::from_millis(100));
    drop(second);
    let mut third = visitor.connect_early(server.port).expect("a session to resume");
    let posted = third.fetch(&Request::post("/echo", "x")).expect("an answer");
    assert_eq!(posted.text(), "POST ");
    assert!(third.early_data_taken());
}

#[test]
fn early_requests_of_clients_that_have_not_proved_their_address_wait_for_the_handshake() {
    let server = start("", "ssl_early_data on;", "location /echo { return 200 '$ssl_early_data.'; }");
    let visitor = QuicVisitor::new();
    let mut first = visitor.connect(server.port).expect("a connection");
    assert_eq!(first.get("/echo").text(), ".");
    first.wait(Duration::from_millis(100));
    drop(first);
    let mut second = visitor.connect_early(server.port).expect("a session to resume");
    assert_eq!(second.get("/echo").text(), ".");
    assert!(second.early_data_taken());
}

#[test]
fn requests_from_an_address_that_the_handshake_did_not_prove_are_not_taken() {
    let server = start("", "", "location /a.txt { allow 127.0.0.9; deny all; }");
    let network = Network::before(server.port);
    let mut client = QuicVisitor::new().connect(network.port).expect("a connection");
    assert_eq!(client.get("/a.txt").status, 403);
    network.move_to(9);
    // A request of some size: to an unproved address the server sends no more than three times what came from there.
    let large = Request::get("/a.txt").field("x-padding", &"x".repeat(1000));
    client.fetch(&large).expect_err("it has to prove its new address");
    let why = format!("{:?}", client.ended());
    assert!(why.contains("ApplicationClosed") && why.contains("256"), "{why}");
    let mut again = QuicVisitor::new().connect(network.port).expect("a connection");
    assert_eq!(again.get("/a.txt").text(), "a file");
    drop(again);
    drop(client);
    let logged = server.read("own.log");
    assert_eq!(logged.matches("/a.txt").count(), 2, "{logged}");
}

#[test]
fn early_data_are_not_taken_where_nothing_allows_it() {
    let server = start("", "", "");
    let visitor = QuicVisitor::new();
    let mut first = visitor.connect(server.port).expect("a connection");
    first.get("/a.txt");
    first.wait(Duration::from_millis(100));
    drop(first);
    assert!(visitor.connect_early(server.port).is_err());
}

#[test]
fn clients_whose_address_changes_go_on_at_their_worker() {
    let server = start("worker_processes 4;", "", "location /n { return 200 $connection_requests; }");
    let network = Network::before(server.port);
    let mut client = QuicVisitor::new().connect(network.port).expect("a connection");
    // The kernel deals each port to any of the four: that all of eight came to the first is a chance in 65536.
    for number in 1..=8 {
        assert_eq!(client.get("/n").text(), number.to_string());
        network.rebind();
    }
}

#[test]
fn many_connections_come_to_all_workers_and_all_are_served() {
    let server = start("worker_processes 3;", "", "location /n { return 200 $connection_requests; }");
    let mut clients: Vec<QuicClient> = (0..12).map(|_| connect(&server)).collect();
    for number in 1..=3 {
        for client in &mut clients {
            assert_eq!(client.get("/n").text(), number.to_string());
        }
    }
}

#[test]
fn reload_keeps_connections_and_their_requests_see_the_new_configuration() {
    let server = start("", "", "location /v { return 200 'v1 $connection_requests'; }");
    let mut client = connect(&server);
    assert_eq!(client.get("/v").text(), "v1 1");
    server.reload(&text("", "location /v { return 200 'v2 $connection_requests'; }"));
    let mut asked = 1;
    wait_for("the new configuration", || {
        asked += 1;
        let said = client.get("/v").text();
        assert!(said.ends_with(&format!(" {asked}")), "{said}");
        said.starts_with("v2")
    });
}

#[test]
fn reloads_under_load_lose_no_request() {
    let server = start("worker_processes 2;", "", "location /v { return 200 v; }");
    let mut clients: Vec<QuicClient> = (0..3).map(|_| connect(&server)).collect();
    for round in 0..6 {
        server.reload(&text("", &format!("location /v {{ return 200 v{round}; }}")));
        for client in &mut clients {
            let requests: Vec<Request> =
                (0..20).flat_map(|_| [Request::get("/v"), Request::get("/a.txt")]).collect();
            for answer in client.fetch_together(&requests) {
                assert_eq!(answer.expect("an answer").status, 200);
            }
        }
        let mut fresh = connect(&server);
        assert_eq!(fresh.get("/a.txt").text(), "a file");
    }
}

#[test]
fn quit_lets_requests_end_and_then_ends_the_connection() {
    let mut server = start("", "", "location /slow { limit_rate 8k; } location /status { stub_status; }");
    server.write("html/slow", vec![b'x'; 16_000]);
    let mut client = connect(&server);
    assert_eq!(client.get("/a.txt").status, 200);
    let port = server.port;
    let slow = std::thread::spawn(move || {
        let mut client = QuicVisitor::new().connect(port).expect("a connection");
        client.fetch(&Request::get("/slow"))
    });
    wait_for("the slow request", || client.get("/status").text().contains("Writing: 2"));
    server.signal(Signal::QUIT);
    assert_eq!(slow.join().expect("a thread").expect("an answer").body.len(), 16_000);
    let why = format!("{:?}", client.ended());
    assert!(why.contains("ApplicationClosed") && why.contains("256"), "{why}");
    assert!(server.ended());
}

#[test]
fn clients_of_a_worker_that_died_are_told_by_a_reset() {
    let server = start("", "", "");
    let mut client = connect(&server);
    assert_eq!(client.get("/a.txt").status, 200);
    let worker = server.workers()[0];
    signal(worker, Signal::KILL);
    wait_for("another worker", || server.workers().first().is_some_and(|pid| *pid != worker));
    let mut why = String::new();
    wait_for("the reset", || {
        why = client.fetch(&Request::get("/a.txt")).err().unwrap_or_default();
        !why.is_empty()
    });
    assert!(format!("{:?}", client.ended()).contains("Reset"), "{why}");
    assert_eq!(connect(&server).get("/a.txt").status, 200);
}

/// A client that sends these streams by hand is told this code of HTTP/3; or of QUIC's own.
fn breaks(server: &Server, streams: &[(bool, bool, &[u8])], code: u64) {
    let client = connect(server);
    let _ = client.send_raw(streams);
    let why = format!("{:?}", client.ended());
    assert!(
        why.contains("ApplicationClosed") && why.contains(&format!("error_code: {code}")),
        "{streams:x?}: {why}"
    );
}

#[test]
fn clients_that_break_the_rules_are_told_which() {
    let server = start("", "", "");
    // The library has opened a control stream of its own: another is one too many.
    breaks(&server, &[(true, false, b"\x00\x04\x00")], 0x103);
    breaks(&server, &[(true, false, b"\x01")], 0x103);
    breaks(&server, &[(false, false, b"\x00\x01x")], 0x105);
    breaks(&server, &[(false, false, b"\x04\x00")], 0x105);
    breaks(&server, &[(false, true, b"\x01\x05\x00")], 0x106);
    breaks(&server, &[(false, true, b"\x01\x03\x01\x00\x80")], 0x200);
    assert_eq!(connect(&server).get("/a.txt").status, 200);
}

#[test]
fn streams_that_make_no_sense_end_alone() {
    let server = start("", "", "location /upload { client_max_body_size 10; return 200 x; }");
    let mut client = connect(&server);
    // No request at all; a request whose body is longer than it said.
    let error = client.send_raw(&[(false, true, b"")]).expect_err("no answer");
    assert!(error.contains("Reset") && error.contains("269"), "{error}");
    // An unknown kind of one-way stream.
    let _ = client.send_raw(&[(true, false, b"\x40\x99abc"), (false, true, b"")]);
    assert_eq!(client.get("/a.txt").status, 200);
    // A malformed request is answered.
    let answer = client.send_raw(&[(false, true, b"\x01\x03\x00\x00\xd1")]).expect("an answer");
    assert!(answer.windows(15).any(|part| part == b"400 Bad Request"), "the built-in page");
    wait_for("the log", || server.read("own.log").contains(" 400 "));
}

#[test]
fn requests_that_do_not_get_on_are_ended() {
    let server = start("", "client_header_timeout 1s;", "");
    let client = connect(&server);
    // A head that is cut; a head behind which the end, or a body, is missing.
    let head: &[u8] = b"\x01\x10\x00\x00\xd1\xd7\xc1\x50\x09localhost";
    for part in [&head[..5], head] {
        let error = client.send_raw(&[(false, false, part)]).expect_err("no answer");
        assert!(error.contains("Reset") && error.contains("269"), "{error}");
    }
}

#[test]
fn requests_at_once_are_answered_at_once_and_bodies_arrive_whole() {
    let server = start("", "", "");
    let large: Vec<u8> =
        (0..2_000_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    server.write("html/large", &large);
    let mut client = connect(&server);
    let requests: Vec<Request> =
        (0..100).map(|index| Request::get(if index % 10 == 0 { "/large" } else { "/a.txt" })).collect();
    for (index, answer) in client.fetch_together(&requests).into_iter().enumerate() {
        let body = answer.expect("an answer").body;
        assert!(if index % 10 == 0 { body == large } else { body == b"a file" }, "{index}");
    }
}

#[test]
fn configuration_that_makes_no_sense_is_refused_with_the_place() {
    let refused = |directives: &str| {
        let place = Place::new();
        certificate(&place.path("own.crt"), &place.path("own.key"));
        place.write("empty.key", "");
        place.write("myriad.conf", place.fill(&format!("events {{}} http {{ {} }}", text("", directives))));
        let output = std::process::Command::new(myriad_tests::binary())
            .arg("-t")
            .arg("-p")
            .arg(place.folder())
            .args(["-c", "myriad.conf"])
            .output()
            .expect("it runs");
        assert!(!output.status.success(), "{directives}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (directives, said) in [
        ("listen 127.0.0.1:1 quic ssl;", "\"ssl\" parameter is incompatible with \"quic\""),
        ("listen 127.0.0.1:1 quic backlog=5;", "\"backlog\" parameter is incompatible with \"quic\""),
        ("listen unix:/tmp/x quic;", "needs an address and a port"),
        ("http3_hq on;", "\"http3_hq\" is not supported"),
        ("http3_max_concurrent_streams 0;", "between 1 and"),
        ("quic_host_key empty.key;", "zero key size"),
        ("quic_host_key none.key;", "none.key"),
        ("ssl_protocols TLSv1.2;", "needs TLSv1.3"),
    ] {
        let error = refused(directives);
        assert!(error.contains(said) && error.contains("myriad.conf:"), "{directives}: {error}");
    }
}
