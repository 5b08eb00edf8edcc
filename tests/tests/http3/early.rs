//! Requests before the handshake is complete, and address validation.

use std::net::UdpSocket;
use std::time::Duration;

use myriad_tests::{BareQuic, Network, QuicVisitor, Request, Server, wait_for};

use super::{GET, POST, connect, has, headers, start, text};

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
fn early_requests_of_clients_that_come_again_to_the_same_address_are_answered_at_once() {
    let server = start("", "ssl_early_data on;", "location /echo { return 200 '$ssl_early_data.'; }");
    let visitor = QuicVisitor::new();
    let mut first = visitor.connect(server.port).expect("a connection");
    assert_eq!(first.get("/echo").text(), ".");
    first.wait(Duration::from_millis(100));
    drop(first);
    for _ in 0..3 {
        let network = Network::before(server.port);
        let mut again = visitor.connect_early(network.port).expect("a session to resume");
        assert_eq!(again.get("/echo").text(), "1.");
        assert!(again.early_data_taken() && !network.saw_retry());
        again.wait(Duration::from_millis(100));
    }
}

#[test]
fn early_requests_from_an_address_that_was_not_shown_wait_for_the_handshake() {
    let server = start("", "ssl_early_data on;", "location /echo { return 200 '$ssl_early_data.'; }");
    let network = Network::before(server.port);
    let visitor = QuicVisitor::new();
    let mut first = visitor.connect(network.port).expect("a connection");
    assert_eq!(first.get("/echo").text(), ".");
    first.wait(Duration::from_millis(100));
    drop(first);
    network.move_to(9);
    let mut second = visitor.connect_early(network.port).expect("a session to resume");
    assert_eq!(second.get("/echo").text(), ".");
    assert!(second.early_data_taken());
}

/// Returns the number of bytes that the server sends for datagrams of a client that never continues.
fn echo(server: &Server, flight: &[Vec<u8>]) -> usize {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(1500))).expect("a time-out");
    for datagram in flight {
        socket.send_to(datagram, ("127.0.0.1", server.port)).expect("a datagram is sent");
    }
    let mut buffer = [0; 2048];
    std::iter::from_fn(|| socket.recv(&mut buffer).ok()).sum()
}

#[test]
fn early_requests_that_are_broken_off_before_the_handshake_ends_are_never_asked() {
    let server = start("", "ssl_early_data on;", "location /echo { return 200 '$request_method.'; }");
    let network = Network::before(server.port);
    let visitor = QuicVisitor::new();
    let mut first = visitor.connect(network.port).expect("a connection");
    assert_eq!(first.get("/echo").text(), "GET.");
    first.wait(Duration::from_millis(100));
    drop(first);
    network.lose_answers(true);
    let mut client = visitor.connect_bare_early(network.port).expect("a session to resume");
    let ask = |client: &mut BareQuic, method| {
        let stream =
            client.open(false, &headers(&[b"\x00\x00", method, b"\x51\x05/echo"])).expect("a request");
        client.wait(Duration::from_millis(200));
        stream
    };
    let post = ask(&mut client, POST);
    client.reset(post, 0x10c);
    client.wait(Duration::from_millis(200));
    let get = ask(&mut client, GET);
    client.end(get);
    network.lose_answers(false);
    assert!(has(&client.answer(get).expect("an answer"), "GET."));
    wait_for("the log", || server.read("own.log").lines().count() > 1);
    assert!(!server.read("own.log").contains("POST"), "{}", server.read("own.log"));
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
fn unvalidated_client_gets_at_most_three_times_what_it_sent() {
    let server = start("", "", "");
    // Certificates that are much longer than the amplification limit.
    let chain = server.read("own.crt").repeat(20);
    server.write("own.crt", chain);
    server.reload(&text("", ""));
    // A forged packet with a handshake header must not validate the address, because any client can send it.
    for forged in [&[][..], &[0xe0, 0, 0, 0, 1, 0, 0, 2, 0, 0]] {
        wait_for("the certificates", || {
            let mut flight = QuicVisitor::new().first_flight().expect("the first datagrams of a client");
            for datagram in &mut flight {
                datagram.extend(forged);
            }
            let (sent, got) = (flight.iter().map(Vec::len).sum::<usize>(), echo(&server, &flight));
            assert!(got <= 3 * sent, "{got} for {sent}");
            got > 1200
        });
    }
    assert_eq!(connect(&server).get("/a.txt").status, 200);
}
