//! Effects of a panic: it terminates one connection, or the process, which the supervisor restarts.

use myriad_tests::{Place, QuicVisitor, Request, Server, certificate, wait_for};

const SITE: &str = "access_log off; ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key;
    server { listen 127.0.0.1:@PORT@; listen 127.0.0.1:@PORT@ quic;
      location / { return 200 here; } location /status { stub_status; } }";

/// Starts a server that panics at a given point once a file exists.
fn start(place_of_panic: &str) -> Server {
    let place = Place::new();
    certificate(&place.path("own.crt"), &place.path("own.key"));
    let trigger = place.path("panic");
    let main =
        format!("worker_processes 1; env \"MYRIAD_TEST_PANIC={place_of_panic}:{}\";", trigger.display());
    Server::start_with(place, &main, SITE)
}

/// Triggers a panic at the next execution of that point.
fn panic(server: &Server) {
    server.write("panic.new", server.workers()[0].to_string());
    std::fs::rename(server.path("panic.new"), server.path("panic")).expect("renamed");
}

/// Masks the expected panic in the logs.
fn forgive(server: &Server) {
    for log in ["stderr", "error.log"] {
        let text = server.read(log).replace("panicked", "p-d");
        server.write(log, text);
    }
}

fn another_process_serves(place: &str, task: &str, meanwhile: impl Fn(&Server)) {
    let server = start(place);
    let before = server.workers();
    panic(&server);
    let line =
        format!("panic in the worker task \"{task}\", the worker process is restarted: a test wants a panic");
    wait_for(&line, || {
        meanwhile(&server);
        server.read("error.log").contains(&line)
    });
    server.log_has("[alert]");
    wait_for("another process", || server.workers().iter().any(|pid| !before.contains(pid)));
    assert_eq!(server.get("/").text(), "here", "the new process uses the same socket");
    assert_eq!(QuicVisitor::new().connect(server.port).expect("a connection").get("/").text(), "here");
    let ended = server.read("error.log");
    assert!(ended.contains("exited with code 1"), "{ended}");
    forgive(&server);
}

#[test]
fn panic_of_a_listener_ends_the_process_and_another_serves_on_its_socket() {
    another_process_serves("listener", "listener", |server| {
        // The file is checked after a client has connected.
        let _ = server.connect().try_fetch(&Request::get("/"));
    });
}

#[test]
fn panic_of_the_deadlines_ends_the_process_and_another_serves() {
    another_process_serves("deadlines", "deadlines", |server| {
        // Deadlines are checked while a connection has a deadline.
        let mut client = server.connect();
        if client.try_fetch(&Request::get("/")).is_ok() {
            client.rest();
        }
    });
}

#[test]
fn panic_of_a_quic_listener_ends_the_process_and_another_serves() {
    another_process_serves("quic", "QUIC listener", |server| {
        let _ = std::net::UdpSocket::bind("127.0.0.1:0")
            .and_then(|socket| socket.send_to(&[0x40; 30], ("127.0.0.1", server.port)));
    });
}

#[test]
fn panic_of_a_connection_ends_it_alone_and_is_counted_right() {
    let server = start("connection");
    let before = server.workers();
    let mut other = server.connect();
    assert_eq!(other.fetch(&Request::get("/")).text(), "here");
    panic(&server);
    let mut client = server.connect();
    client.send(Request::get("/").bytes());
    assert!(client.is_closed(), "nothing is answered");
    server.log_has("panic while processing a connection: a test wants a panic");
    assert_eq!(other.fetch(&Request::get("/")).text(), "here");
    drop(client);
    let status = other.fetch(&Request::get("/status")).text();
    assert!(status.starts_with("Active connections: 1 "), "{status}");
    assert!(status.contains("Reading: 0 Writing: 1 Waiting: 0"), "{status}");
    assert_eq!(server.workers(), before);
    forgive(&server);
}

#[test]
fn panic_of_a_quic_connection_ends_it_alone() {
    let server = start("quic connection");
    let before = server.workers();
    let visitor = QuicVisitor::new();
    let mut other = visitor.connect(server.port).expect("a connection");
    assert_eq!(other.get("/").text(), "here");
    let mut client = visitor.connect(server.port).expect("a connection");
    panic(&server);
    assert!(client.fetch(&Request::get("/")).is_err());
    server.log_has("panic while processing a connection: a test wants a panic");
    assert_eq!(other.get("/").text(), "here");
    assert_eq!(server.workers(), before);
    let status = server.get("/status").text();
    assert!(status.contains("Reading: 0 Writing: 1 Waiting: 1"), "{status}");
    forgive(&server);
}
