//! What HTTP/3 has of its own: handshakes, addresses that change, early data, ends and restarts, clients that break rules.
//!
//! covers: http3 http3_max_concurrent_streams http3_stream_buffer_size quic_retry

#[path = "http3/early.rs"]
mod early;
#[path = "http3/fields.rs"]
mod fields;

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use myriad_tests::{
    BareQuic, Gate, HttpOrigin, Network, Place, QuicClient, QuicVisitor, Request, Server, Signal,
    certificate, signal, wait_for,
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
fn what_a_hello_offered_and_how_it_ended_is_told() {
    let server = start(
        "",
        "",
        "return 200 '$ssl_protocol $ssl_cipher $ssl_curve $ssl_server_name $ssl_alpn_protocol\n$ssl_ciphers\n$ssl_curves\n\
         $ssl_sigalgs\n$ssl_sigalg\n$ssl_client_sigalg\n$ssl_session_id\n';",
    );
    let told = connect(&server).get("/").text().clone();
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("TLSv1.3 TLS_") && lines[0].ends_with(" localhost h3"), "{told}");
    assert!(lines[1].contains("TLS_AES_128_GCM_SHA256") && lines[2].contains("X25519"), "{told}");
    assert!(lines[3].contains(lines[4]) && lines[4] == "ecdsa_secp256r1_sha256", "{told}");
    assert_eq!((lines[5], lines[6].len()), ("", 64), "{told}");
    assert_ne!(
        connect(&server).get("/").text().lines().last(),
        Some(lines[6]),
        "a number of the connection's"
    );
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
fn certificate_follows_from_the_name_that_is_asked_for() {
    let directives =
        "ssl_certificate @DIR@/$ssl_server_name.crt; ssl_certificate_key @DIR@/$ssl_server_name.key;";
    let server = start("", "", directives);
    for name in ["one.test", "two.test"] {
        let key = server.path(&format!("{name}.key"));
        certificate(&server.path(&format!("{name}.crt")), &key);
        // The worker reads it, with the rights that it has.
        std::fs::set_permissions(key, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    }
    let visitor = QuicVisitor::new();
    let shown = |name: &str| {
        let mut client = visitor.connect_as(server.port, name).expect("a connection");
        assert_eq!(client.fetch(&Request::get("/a.txt").host(name)).expect("an answer").text(), "a file");
        client.certificate()
    };
    let [one, two] = ["one.test", "two.test"].map(shown);
    assert_ne!(one, two);
    assert_eq!(shown("one.test"), one);
    let error = visitor.connect_as(server.port, "three.test").expect_err("there is none");
    assert!(error.contains("80") || error.contains("certificate"), "{error}");
    wait_for("the log", || server.read("error.log").contains("three.test.crt"));
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
    let logged = || server.read("own.log").matches("/a.txt").count();
    wait_for("the log", || logged() >= 2);
    assert_eq!(logged(), 2, "{}", server.read("own.log"));
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

/// An origin whose answer is held until the gate is opened.
fn held() -> (HttpOrigin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = HttpOrigin::start(move |call| {
        held.pass();
        call.answer("HTTP/1.1 200 OK", vec![b'x'; 16_000]);
    });
    (origin, gate)
}

fn slow_before(origin: &HttpOrigin) -> String {
    format!("location /slow {{ proxy_pass http://{}; }}", origin.address)
}

#[test]
fn reload_sends_clients_away_when_what_they_asked_is_answered() {
    let (origin, gate) = held();
    let server = start("worker_processes 2;", "", &slow_before(&origin));
    let (mut client, _) = connect_bare(&server);
    client.told(0, 13).expect("settings");
    let slow = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x05/slow"])).expect("a request");
    client.end(slow);
    client.wait_until("the slow request", || origin.count() == 1);
    server.reload(&text("", "location /v { return 200 v2; }"));
    // RFC 9114 section 5.2: from which request on nothing is taken.
    assert_eq!(client.told(0, 3).expect("a GOAWAY"), [7, 1, 4]);
    let late = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"])).expect("a stream");
    client.end(late);
    let error = client.answer(late).expect_err("it is not taken");
    assert!(error.contains("Reset") && error.contains(&0x10b.to_string()), "{error}");
    gate.open();
    let answer = client.answer(slow).expect("an answer");
    assert!(has(&answer, &"x".repeat(16_000)));
    let why = format!("{:?}", client.ended());
    assert!(why.contains("ApplicationClosed") && why.contains("256"), "{why}");
    assert_eq!(connect(&server).get("/v").text(), "v2");
}

#[test]
fn reloads_under_load_lose_no_request() {
    let server = start("worker_processes 2;", "", "location /v { return 200 v; }");
    let mut clients: Vec<QuicClient> = (0..3).map(|_| connect(&server)).collect();
    for round in 0..6 {
        server.reload(&text("", &format!("location /v {{ return 200 v{round}; }}")));
        for client in &mut clients {
            let mut asked: Vec<Request> =
                (0..20).flat_map(|_| [Request::get("/v"), Request::get("/a.txt")]).collect();
            for _ in 0..10 {
                let answers = client.fetch_together(&asked);
                let mut rejected = Vec::new();
                for (request, answer) in asked.into_iter().zip(answers) {
                    match answer {
                        Ok(answer) => assert_eq!(answer.status, 200),
                        // What a client may ask again, whatever it was: it was rejected, or came when the connection was
                        // over. (A client that slept meanwhile is told so by a reset, too.)
                        Err(why) => {
                            let safe = ["H3_REQUEST_REJECTED", "H3_NO_ERROR", "is closing", "reset by peer"];
                            assert!(safe.iter().any(|safe| why.contains(safe)), "{why}");
                            rejected.push(request);
                        }
                    }
                }
                asked = rejected;
                if asked.is_empty() {
                    break;
                }
                *client = connect(&server);
            }
            assert!(asked.is_empty());
        }
    }
}

#[test]
fn reload_during_a_handshake_is_told_when_it_ends() {
    let server = start("", "", "");
    let network = Network::before(server.port);
    network.lose_answers(true);
    let port = network.port;
    let told = std::thread::spawn(move || {
        let mut client = QuicVisitor::new().connect_bare(port).expect("a connection");
        client.told(0, 16)
    });
    wait_for("the answer to the hello", || network.saw_answer());
    server.reload(&text("", "location /v { return 200 v2; }"));
    wait_for("the other configuration", || {
        let answer =
            QuicVisitor::new().connect(server.port).and_then(|mut client| client.fetch(&Request::get("/v")));
        answer.is_ok_and(|answer| answer.text() == "v2")
    });
    network.lose_answers(false);
    let told = told.join().expect("a thread").expect("settings and a GOAWAY");
    assert_eq!(told[13..], [7, 1, 0]);
}

#[test]
fn quit_lets_requests_end_and_then_ends_the_connection() {
    let (origin, gate) = held();
    let mut server = start("", "", &slow_before(&origin));
    let mut client = connect(&server);
    assert_eq!(client.get("/a.txt").status, 200);
    let port = server.port;
    let slow = std::thread::spawn(move || {
        let mut client = QuicVisitor::new().connect(port).expect("a connection");
        client.fetch(&Request::get("/slow"))
    });
    wait_for("the slow request", || origin.count() == 1);
    server.signal(Signal::QUIT);
    let why = format!("{:?}", client.ended());
    assert!(why.contains("ApplicationClosed") && why.contains("256"), "{why}");
    gate.open();
    assert_eq!(slow.join().expect("a thread").expect("an answer").body.len(), 16_000);
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

/// Whoever sees an ID on the wire would else end its connection by one datagram (RFC 9000 section 21.11).
#[test]
fn no_listener_answers_for_a_connection_of_another() {
    let server = start("", "server { listen 127.0.0.2:@PORT@ quic; }", "");
    let network = Network::before(server.port);
    let mut client = QuicVisitor::new().connect(network.port).expect("a connection");
    assert_eq!(client.get("/a.txt").status, 200);
    let mut id = None;
    wait_for("an ID", || {
        id = network.connection_id(10);
        id.is_some()
    });
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(("127.0.0.2", server.port)).expect("an address");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    socket.send(&[&[0x40][..], &id.expect("an ID"), &[7; 50]].concat()).expect("it is sent");
    // What is answered whoever asks, and would be behind a reset: the versions of QUIC that there are.
    socket.send(&[&[0xc0, 1, 2, 3, 4, 0, 0][..], &[0; 1300]].concat()).expect("it is sent");
    let mut buffer = [0; 2048];
    let count = socket.recv(&mut buffer).expect("an answer");
    assert!(count > 5 && buffer[0] & 0x80 != 0 && buffer[1..5] == [0; 4], "{:x?}", &buffer[..count]);
    assert_eq!(client.get("/a.txt").status, 200);
}

/// Which tokens a process took is forgotten with it.
#[test]
fn tokens_show_nothing_once_the_process_that_made_them_is_gone() {
    let server = start("", "quic_retry on;", "");
    let visitor = QuicVisitor::new();
    let asked_to_retry = || {
        let network = Network::before(server.port);
        let mut client = visitor.connect(network.port).expect("a connection");
        assert_eq!(client.get("/a.txt").status, 200);
        network.saw_retry()
    };
    wait_for("a token that holds", || !asked_to_retry());
    server.reload(&text("quic_retry on;", "location /v { return 200 v2; }"));
    wait_for("the other configuration", || {
        let answer = visitor.connect(server.port).and_then(|mut client| client.fetch(&Request::get("/v")));
        answer.is_ok_and(|answer| answer.text() == "v2")
    });
    wait_for("a token that holds after a reload", || !asked_to_retry());
    let worker = server.workers()[0];
    signal(worker, Signal::KILL);
    wait_for("another worker", || server.workers().first().is_some_and(|pid| *pid != worker));
    assert!(asked_to_retry());
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
    let server = start("", "client_header_timeout 5s;", "");
    let client = connect(&server);
    let head: &[u8] = b"\x01\x10\x00\x00\xd1\xd7\xc1\x50\x09localhost";
    let error = client.send_raw(&[(false, false, &head[..5])]).expect_err("no answer");
    assert!(error.contains("Reset") && error.contains("269"), "{error}");
    // A request behind which neither an end nor a body comes is one all the same.
    let mut client = connect(&server);
    let asked = client.send_raw(&[(false, false, head)]).expect("an answer");
    assert!(has(&asked, "403 Forbidden"));
    assert_eq!(client.get("/a.txt").status, 200);
    server.log_has("client timed out while processing HTTP/3 connection, client: 127.0.0.1");
}

#[test]
fn answers_that_nobody_reads_are_given_up_in_time() {
    let server = start("", "send_timeout 1s;", "");
    server.write("html/large", vec![b'x'; 8 << 20]);
    let (mut client, _) = connect_bare(&server);
    let stream = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/large"])).expect("a request");
    client.end(stream);
    client.wait_until("the log", || server.read("own.log").contains("/large"));
    server.log_has("client timed out while processing HTTP/3 connection, client: 127.0.0.1");
    assert_eq!(client.reset_code(stream), 268);
}

/// Nobody reads a body whose request has to wait its turn, and its room is full: the client's change of mind is heard all the same.
#[test]
fn requests_that_are_broken_off_behind_a_full_body_are_over_at_once() {
    let server = start(
        "",
        "limit_req_zone $server_name zone=turn:64k rate=1r/m; http3_stream_buffer_size 16k;",
        "location / { limit_req zone=turn burst=5; client_max_body_size 10m; proxy_pass http://127.0.0.1:1; }
         location = /a.txt { }",
    );
    let (mut client, _) = connect_bare(&server);
    let post = headers(&[b"\x00\x00", POST, b"\xc1"]);
    let first = client.open(false, &post).expect("a request");
    client.end(first);
    assert!(has(&client.answer(first).expect("an answer"), "502 Bad Gateway"));
    // More than its room, less than what the client may send.
    let body = [&[0, 0x80, 0, 0x60, 0][..], &vec![b'x'; 24_576]].concat();
    let waiting = client.open(false, &[&post[..], &body].concat()).expect("a request");
    client.wait_until("the request", || server.read("error.log").contains("delaying request"));
    round_trip(&mut client);
    client.wait_until("the log", || server.read("own.log").contains("/a.txt"));
    assert_eq!(server.read("own.log").matches("POST").count(), 1, "{}", server.read("own.log"));
    client.reset(waiting, 0x10c);
    // A connection that idles would end it, too.
    wait_for("the end of the request", || {
        round_trip(&mut client);
        server.read("own.log").contains(" 499 ")
    });
    assert!(client.is_open());
}

#[test]
fn bodies_that_were_not_announced_or_are_not_as_long_are_taken_for_what_they_are() {
    let origin = HttpOrigin::start(|call| {
        let said = format!("<{}>", String::from_utf8_lossy(&call.body));
        call.answer("HTTP/1.1 200 OK", said);
    });
    let server = start(
        "",
        "",
        &format!("client_max_body_size 10; location / {{ proxy_pass http://{}; }}", origin.address),
    );
    let (mut client, _) = connect_bare(&server);
    let mut ask = |fields: &[u8], pieces: &[&[u8]]| {
        let stream = client.open(false, &headers(&[b"\x00\x00", GET, fields])).expect("a request");
        for (number, piece) in pieces.iter().enumerate() {
            client.wait(Duration::from_millis(if number == 0 { 50 } else { 0 }));
            client.send(stream, &[&[0, piece.len() as u8], *piece].concat()).expect("a piece");
        }
        client.end(stream);
        client.answer(stream).expect("an answer")
    };
    assert!(has(&ask(b"\xc1", &[b"0123456789"]), "<0123456789>"));
    assert!(has(&ask(b"\xc1", &[b"01234", b"56789"]), "<0123456789>"));
    assert!(has(&ask(b"\xc1", &[b"0123456789a"]), "413 Request Entity Too Large"));
    assert!(has(&ask(b"\xc1\x54\x012", &[b"a"]), "400 Bad Request"));
    assert!(has(&ask(b"\xc1\x54\x011", &[b"ab"]), "400 Bad Request"));
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
fn client_may_ask_for_as_much_at_once_as_the_configuration_says() {
    let server = start("", "http3_max_concurrent_streams 2;", "");
    let (mut client, _) = connect_bare(&server);
    client.told(0, 13).expect("settings");
    let [first, _] = [(); 2].map(|()| client.open(false, b"\x01").expect("half a request"));
    client.wait(Duration::from_millis(100));
    assert!(!client.may_open());
    client.reset(first, 0x10c);
    wait_for("room for another", || {
        client.wait(Duration::from_millis(10));
        client.may_open()
    });
    assert!(!client.may_open());
}

#[test]
fn body_that_nobody_reads_stalls_where_the_configuration_says() {
    let server = start(
        "",
        "limit_req_zone $server_name zone=own:1m rate=1r/m; http3_stream_buffer_size 16k;",
        "location /turn { limit_req zone=own burst=9; }",
    );
    assert_eq!(connect(&server).get("/turn").status, 404);
    let (mut client, _) = connect_bare(&server);
    let body = vec![b'x'; 1_000_000];
    // The request waits for its turn a minute.
    let post = headers(&[b"\x00\x00\xd4\xd7\x50\x09localhost\x51\x05/turn"]);
    let post = client.open(false, &[&post[..], b"\x00\x80\x0f\x42\x40"].concat()).expect("a request");
    let mut sent = 0;
    wait_for("room for the body", || {
        client.wait(Duration::from_millis(5));
        sent += client.fill(post, &body);
        sent >= 16 << 10
    });
    for _ in 0..10 {
        round_trip(&mut client);
        sent += client.fill(post, &body);
    }
    assert!(sent <= 48 << 10, "{sent}");
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

/// `GET /a.txt`, but for what comes of the table of fields.
const GET: &[u8] = b"\xd1\xd7\x50\x09localhost";
const POST: &[u8] = b"\xd4\xd7\x50\x09localhost";

/// A request whose head is this section.
fn headers(section: &[&[u8]]) -> Vec<u8> {
    let section = section.concat();
    [&[1, section.len() as u8], &section[..]].concat()
}

fn has(answer: &[u8], text: &str) -> bool {
    answer.windows(text.len()).any(|part| part == text.as_bytes())
}

/// A connection with its control stream, and the number of its encoder's stream.
fn connect_bare(server: &Server) -> (BareQuic, usize) {
    let mut client = QuicVisitor::new().connect_bare(server.port).expect("a connection");
    client.open(true, b"\x00\x04\x00").expect("a control stream");
    let encoder = client.open(true, b"\x02").expect("an encoder's stream");
    (client, encoder)
}

/// Asks for something and is answered: then the server has seen what was sent on this connection before.
fn round_trip(client: &mut BareQuic) {
    let stream = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"])).expect("a request");
    client.end(stream);
    assert!(has(&client.answer(stream).expect("an answer"), "a file"));
}

#[test]
fn requests_that_are_broken_off_again_and_again_end_the_connection() {
    let server = start("", "http3_max_concurrent_streams 20; keepalive_requests 100000;", "");
    let (mut client, _) = connect_bare(&server);
    let ask = |client: &mut BareQuic, breaks_off: bool| {
        let request = headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"]);
        let sent = if breaks_off { &request[..5] } else { &request[..] };
        let Ok(stream) = client.open(false, sent) else { return false };
        if breaks_off {
            client.reset(stream, 0x10c);
            return true;
        }
        client.end(stream);
        client.answer(stream).is_ok()
    };
    // Who is served now and then may change its mind as often.
    for _ in 0..150 {
        assert!(ask(&mut client, true) && ask(&mut client, false));
    }
    for _ in 0..400 {
        if !ask(&mut client, true) {
            break;
        }
    }
    let why = format!("{:?}", client.ended());
    assert!(why.contains(&format!("error_code: {}", 0x107)), "{why}");
    server.log_has("flood of resets while processing HTTP/3 connection, client: 127.0.0.1");
    assert_eq!(connect(&server).get("/a.txt").status, 200);
}

#[test]
fn requests_that_go_on_after_a_goaway_end_the_connection() {
    let server = start(
        "",
        "http3_max_concurrent_streams 20; keepalive_requests 1;",
        "location /slow { limit_rate 1; }",
    );
    server.write("html/slow", vec![b'x'; 100_000]);
    let (mut client, _) = connect_bare(&server);
    let ask = |client: &mut BareQuic, path: &[u8]| {
        let stream = client.open(false, &headers(&[b"\x00\x00", GET, path]))?;
        client.end(stream);
        Ok::<_, String>(stream)
    };
    ask(&mut client, b"\x51\x05/slow").expect("a request");
    client.told(0, 16).expect("settings and a GOAWAY");
    let asked = (0..400).take_while(|_| ask(&mut client, b"\x51\x06/a.txt").is_ok()).count();
    let why = format!("{:?}", client.ended());
    assert!(why.contains(&format!("error_code: {}", 0x107)) && asked >= 100, "{asked}: {why}");
    server
        .log_has("flood of requests that are rejected while processing HTTP/3 connection, client: 127.0.0.1");
}

#[test]
fn connections_that_are_not_kept_answer_their_first_request_whenever_it_comes() {
    let server = start("", "keepalive_timeout 0;", "");
    let (mut client, _) = connect_bare(&server);
    client.wait(Duration::from_millis(400));
    let request = headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"]);
    let stream = client.open(false, &request).expect("a request");
    client.end(stream);
    assert!(has(&client.answer(stream).expect("an answer"), "a file"));
    let why = format!("{:?}", client.ended());
    assert!(why.contains("ApplicationClosed") && why.contains("256"), "{why}");
}
