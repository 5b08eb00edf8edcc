//! Handshakes: discovery of HTTP/3, server and certificate of a name, address validation.
//!
//! covers: http3 quic_retry

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use myriad_tests::{BareQuic, Network, Place, QuicClient, QuicVisitor, Request, certificate, wait_for};

use super::{GET, connect, headers, start, text};

#[test]
fn tcp_clients_get_alt_svc_for_http3_unless_site_sends_its_own() {
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
    let error = QuicVisitor::new().connect(silent.port).expect_err("the server does not support HTTP/3");
    assert!(error.contains("120") || error.contains("HTTP/3"), "{error}");
}

#[test]
fn tls_variables_show_client_hello_and_handshake_result() {
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
fn retry_is_sent_only_where_configured() {
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
        // The worker reads the key with its reduced privileges.
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
    let error = visitor.connect_as(server.port, "three.test").expect_err("no server for this name");
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
    // A large request: to an unvalidated address the server sends at most three times the number of bytes received from
    // it.
    let large = Request::get("/a.txt").field("x-padding", &"x".repeat(1000));
    client.fetch(&large).expect_err("the new address is not validated");
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
fn clients_with_changed_address_stay_on_their_worker() {
    let server = start("worker_processes 4;", "", "location /n { return 200 $connection_requests; }");
    let network = Network::before(server.port);
    let mut client = QuicVisitor::new().connect(network.port).expect("a connection");
    // The kernel assigns each port to any of the four workers: the probability that all seven new ports reach the
    // worker of the connection is 1 in 16384.
    for number in 1..=8 {
        assert_eq!(client.get("/n").text(), number.to_string());
        network.rebind();
    }
}

#[test]
fn unvalidated_new_address_gets_at_most_three_times_what_was_received_from_it() {
    let server = start("", "", "location /large { sendfile off; }");
    server.write("html/large", vec![b'x'; 4 << 20]);
    let network = Network::before(server.port);
    let mut client = QuicVisitor::new().connect_bare(network.port).expect("a connection");
    client.open(true, b"\x00\x04\x00").expect("a control stream");
    let ask = |client: &mut BareQuic| {
        let stream = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/large"])).expect("a request");
        client.end(stream);
    };
    // The responses to a client with a validated address are far larger.
    ask(&mut client);
    client.wait_until("an answer", || network.since_moved().1 > 100_000);
    let (sent, came) = network.since_moved();
    assert!(came > 6 * sent, "{came} bytes for {sent} bytes: the responses are too small for this test");
    // The new address never responds, like the victim of an amplification attack.
    network.lose_answers(true);
    network.move_to(2);
    ask(&mut client);
    client.wait_until("something for the new address", || network.since_moved().1 > 0);
    client.wait(Duration::from_secs(1));
    let (sent, came) = network.since_moved();
    assert!(came <= 3 * sent, "{came} for {sent}");
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

/// Otherwise an observer of a connection ID could close the connection with one datagram (RFC 9000 section 21.11).
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
    // Version negotiation, which any client receives, and which would follow a reset.
    socket.send(&[&[0xc0, 1, 2, 3, 4, 0, 0][..], &[0; 1300]].concat()).expect("it is sent");
    let mut buffer = [0; 2048];
    let count = socket.recv(&mut buffer).expect("an answer");
    assert!(count > 5 && buffer[0] & 0x80 != 0 && buffer[1..5] == [0; 4], "{:x?}", &buffer[..count]);
    assert_eq!(client.get("/a.txt").status, 200);
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
            .expect("the program starts");
        assert!(!output.status.success(), "{directives}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    for (directives, said) in [
        ("listen 127.0.0.1:1 quic ssl;", "\"ssl\" parameter is incompatible with \"quic\""),
        ("listen 127.0.0.1:1 quic backlog=5;", "\"backlog\" parameter is incompatible with \"quic\""),
        ("listen unix:/tmp/x quic;", "requires an address and a port"),
        ("http3_hq on;", "\"http3_hq\" is not supported"),
        ("http3_max_concurrent_streams 0;", "between 1 and"),
        ("quic_host_key empty.key;", "empty.key\" is empty"),
        ("quic_host_key none.key;", "none.key"),
        ("ssl_protocols TLSv1.2;", "requires TLSv1.3"),
    ] {
        let error = refused(directives);
        assert!(error.contains(said) && error.contains("myriad.conf:"), "{directives}: {error}");
    }
}
