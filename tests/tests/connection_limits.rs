//! Limits of connections and descriptors: the order in which connections are closed, and the log messages.
//!
//! covers: worker_connections worker_rlimit_nofile

use std::fs::File;
use std::net::UdpSocket;
use std::time::{Duration, SystemTime};

use myriad_tests::frames::{Frame, GOAWAY, HEADERS, Hand};
use myriad_tests::{
    Client, Gate, Origin, PATIENCE, Place, QuicClient, QuicVisitor, Request, Server, certificate, wait_for,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const LINE: &str = "worker_connections are not enough, reusing connections: ";

/// Starts one worker with this number of connections, in front of an origin.
fn start(connections: u32, origin: &Origin) -> Server {
    start_with(&format!("worker_processes 1; events {{ worker_connections {connections}; }}"), origin)
}

fn start_with(main: &str, origin: &Origin) -> Server {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    certificate(&place.path("own.crt"), &place.path("own.key"));
    Server::start_with(
        place,
        main,
        "access_log off; ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key;
         server { listen 127.0.0.1:@PORT@; listen 127.0.0.1:@PORT@ quic; http2 on;
           location / { return 200 here; } location /origin { fastcgi_pass @ORIGIN@; } }",
    )
}

fn origin() -> Origin {
    Origin::start(|call| call.answer("Content-Type: text/plain", "from the origin"))
}

/// Returns idle clients; every other client has received a response before.
fn idle_clients(port: u16, count: usize) -> Vec<Client> {
    (0..count)
        .map(|number| {
            let mut client = Client::connect(port);
            if number % 2 == 1 {
                assert_eq!(client.fetch(&Request::get("/")).text(), "here");
            }
            client
        })
        .collect()
}

fn are_served(server: &Server, newcomers: usize) {
    for _ in 0..newcomers {
        assert_eq!(server.get("/").text(), "here");
        assert_eq!(server.get("/origin").text(), "from the origin");
    }
}

#[test]
fn new_clients_are_served_among_thousand_idle_ones_with_256_descriptors() {
    let own = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: own.maximum, maximum: own.maximum }).expect("descriptors");
    let origin = origin();
    let server = start_with("worker_rlimit_nofile 256;", &origin);
    server.log_has("exceed the limit of 256 open files");
    let clients = idle_clients(server.port, 1000);
    are_served(&server, 20);
    server.log_has(LINE);
    server.log_has("raise the limit of open files");
    drop(clients);
}

#[test]
fn oldest_idle_connections_give_way_and_a_request_under_way_does_not() {
    let gate = std::sync::Arc::new(Gate::new());
    let held = std::sync::Arc::clone(&gate);
    let origin = Origin::start(move |call| {
        if call.param("REQUEST_URI") == "/origin/slow" {
            held.pass();
        }
        call.answer("Content-Type: text/plain", "from the origin");
    });
    let server = start(32, &origin);
    // It is the oldest connection.
    let mut busy = server.connect();
    busy.send(Request::get("/origin/slow").bytes());
    wait_for("the request at the origin", || !origin.calls().is_empty());
    let mut clients = idle_clients(server.port, 32);
    are_served(&server, 20);
    assert!(clients[0].is_closed() && clients[1].is_closed(), "the oldest idle connections are closed");
    let mut newest = server.connect();
    assert_eq!(newest.fetch(&Request::get("/")).text(), "here");
    assert_eq!(server.get("/").text(), "here");
    assert_eq!(newest.fetch(&Request::get("/")).text(), "here", "the newest stays");
    gate.open();
    assert_eq!(busy.answer().text(), "from the origin");
    server.log_has(&format!("32 {LINE}"));
    server.log_has("raise \"worker_connections\"");
}

#[test]
fn heads_and_bodies_that_do_not_go_on_give_way_once_nothing_is_idle() {
    let origin = origin();
    let server = start(16, &origin);
    let half = |number: usize| {
        let mut client = server.connect();
        let text = if number.is_multiple_of(2) {
            "GET / HTTP/1.1\r\nHost: a\r\n"
        } else {
            "POST /origin HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf"
        };
        client.send(text);
        client
    };
    let mut clients: Vec<Client> = (0..16).map(half).collect();
    are_served(&server, 20);
    clients[0].rest();
    clients[1].rest();
    server.log_has(" stalled ones were closed");
}

/// Starts a server with 256 descriptors, and large files `/files/NUMBER` with old modification times.
fn with_few_descriptors(files: usize, origin: &Origin) -> Server {
    let own = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: own.maximum, maximum: own.maximum }).expect("descriptors");
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let folder = place.path("files");
    std::fs::create_dir(&folder).expect("a folder");
    for number in 0..files {
        let file = File::create(folder.join(number.to_string())).expect("a file");
        file.set_len(2 << 20).expect("a length");
        file.set_modified(SystemTime::now() - Duration::from_hours(1)).expect("a time");
    }
    let rules = "access_log off; server { listen 127.0.0.1:@PORT@; http2 on;
                   location / { return 200 here; } location /origin { fastcgi_pass @ORIGIN@; }
                   location /files/ { root @DIR@; } }";
    Server::start_with(place, "worker_processes 1; worker_rlimit_nofile 256;", rules)
}

#[test]
fn one_visitor_of_many_large_files_leaves_descriptors_to_others() {
    let origin = origin();
    let server = with_few_descriptors(400, &origin);
    let mut client = server.connect();
    for number in 0..400 {
        let answer = client.fetch(&Request::get(&format!("/files/{number}")).field("Range", "bytes=0-0"));
        assert_eq!((answer.status, answer.body.len()), (206, 1), "file {number}");
    }
    are_served(&server, 5);
    assert!(!server.read("error.log").contains("open files of the process"), "the open files suffice");
}

/// Returns whether the fields begin with `:status: 200`, one byte (RFC 7541, appendix A), optionally after a table size
/// update.
fn is_ok(head: &Frame) -> bool {
    head.payload.iter().take(4).any(|byte| *byte == 0x88)
}

#[test]
fn idle_clients_give_way_to_files_and_to_origins_that_need_a_descriptor() {
    let (origin, gate) = Origin::start_held("from the origin");
    let server = with_few_descriptors(160, &origin);
    let mut clients = idle_clients(server.port, 100);
    // It is idle as well, but the oldest connections are closed first.
    let mut asking = Hand::greet(server.port, &[]);
    // Each stalled stream has an open file.
    let mut hands: Vec<_> = (0..2).map(|_| Hand::greet(server.port, &[(4, 0)])).collect();
    for (at, hand) in hands.iter_mut().enumerate() {
        for number in 0..80 {
            hand.get(2 * number + 1, &format!("/files/{}", 80 * at + number as usize), &[]);
        }
        for _ in 0..80 {
            assert!(is_ok(&hand.wait_for(HEADERS)), "a file that was opened");
        }
    }
    for number in 0..20 {
        asking.get(2 * number + 1, &format!("/origin/{number}"), &[]);
    }
    origin.wait_for(20);
    gate.open();
    for _ in 0..20 {
        assert!(is_ok(&asking.wait_for(HEADERS)), "an answer of the origin");
    }
    server.log_has("the open files of the process are exhausted");
    let gone = clients.iter_mut().map(Client::has_input).filter(|closed| *closed).count();
    assert!((1..100).contains(&gone), "{gone} connections were closed");
}

#[test]
fn idle_http2_connections_get_goaway_and_are_closed() {
    let origin = origin();
    let server = start(8, &origin);
    let mut hands: Vec<Hand> = (0..8)
        .map(|_| {
            let mut hand = Hand::greet(server.port, &[]);
            hand.get(1, "/", &[]);
            assert_eq!(hand.body(1), b"here");
            hand
        })
        .collect();
    are_served(&server, 8);
    assert_eq!(hands[0].wait_for(GOAWAY).code(), 0);
    assert!(hands[0].next().is_none(), "the connection is closed after GOAWAY");
}

#[test]
fn idle_connections_of_http3_make_room_for_others() {
    let origin = origin();
    let server = start(8, &origin);
    let visitor = QuicVisitor::new();
    let mut clients: Vec<QuicClient> = Vec::new();
    for _ in 0..16 {
        let mut client = visitor.connect(server.port).expect("a connection");
        assert_eq!(client.get("/").text(), "here");
        clients.push(client);
    }
    are_served(&server, 8);
    server.log_has(LINE);
    drop(clients);
}

#[test]
fn no_connection_is_closed_for_http3_client_with_unvalidated_address() {
    let origin = origin();
    let server = start(8, &origin);
    // The maximum number of clients; an eighth of the connections is reserved for origins.
    let mut clients: Vec<QuicClient> =
        (0..7).map(|_| QuicVisitor::new().connect(server.port).expect("a connection")).collect();
    for _ in 0..16 {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        for datagram in QuicVisitor::new().first_flight().expect("a first flight") {
            socket.send_to(&datagram, ("127.0.0.1", server.port)).expect("a datagram");
        }
        let mut answer = [0; 2048];
        let count = socket.recv(&mut answer).expect("an answer");
        // RFC 9000 section 17.2.5: a long header of type 3.
        assert!(count > 0 && answer[0] & 0xb0 == 0xb0, "a Retry, not {:x}", answer[0]);
    }
    for client in &mut clients {
        assert_eq!(client.get("/").text(), "here");
    }
    are_served(&server, 8);
}
