//! Fetches whose clients have disconnected, and origin connections that clients cause.

use std::sync::Arc;
use std::sync::mpsc::channel;

use myriad_tests::frames::{END_HEADERS, END_STREAM, HEADERS, Hand, RST_STREAM, head};
use myriad_tests::{Cached, Call, Gate, Origin, Server, wait_for};

use super::hold;

/// Starts a site with a page in transit whose only client has disconnected.
fn abandoned(rules: &str, begun: impl Fn(&mut Call) + Send + Sync + 'static) -> (Server, Origin) {
    let rules = format!("fastcgi_cache_valid 1h; access_log @DIR@/left.log; {rules}");
    let (server, origin) = Cached { server: &rules, ..Cached::default() }.start(begun);
    drop(hold(&server, &origin, "/page"));
    wait_for("the visitor to leave", || server.read("left.log").contains(" 499 "));
    (server, origin)
}

#[test]
fn fetch_without_waiters_is_aborted_before_response_starts() {
    let (sender, aborted) = channel();
    let (server, origin) = abandoned("", move |call| {
        if call.number == 1 {
            let _ = sender.send(call.wait_for_hang_up());
        } else {
            call.answer("Content-Type: text/plain", "page");
        }
    });
    assert!(aborted.recv().expect("the end of the request"), "the connection is closed");
    assert_eq!(server.get("/page").cache(), "MISS");
    assert_eq!(origin.count(), 2);
}

#[test]
fn fetch_goes_on_where_the_abort_is_ignored() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, origin) = abandoned("fastcgi_ignore_client_abort on;", move |call| {
        held.pass();
        call.answer("Content-Type: text/plain", "page");
    });
    gate.open();
    wait_for("the end of the request", || origin.finished() == 1);
    assert_eq!((server.get("/page").text().as_str(), origin.count()), ("page", 1), "the page is kept");
}

#[test]
fn fetch_goes_on_once_its_answer_has_begun() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let site = Cached { server: "fastcgi_cache_valid 1h; access_log @DIR@/left.log;", ..Cached::default() };
    let (server, origin) = site.start(move |call| {
        call.answer("Content-Type: application/x-parts", "begun");
        held.pass();
        call.send(" and ended");
    });
    let mut client = hold(&server, &origin, "/page");
    client.until(|seen| seen.windows(5).any(|window| window == b"begun"));
    drop(client);
    wait_for("the visitor to leave", || !server.read("left.log").is_empty());
    gate.open();
    wait_for("the end of the request", || origin.finished() == 1);
    assert_eq!((server.get("/page").text().as_str(), origin.count()), ("begun and ended", 1));
}

/// Opens `streams` streams for distinct pages and resets each immediately, as fast as possible.
fn reset_all(port: u16, connection: usize, streams: u32) {
    let mut hand = Hand::greet(port, &[]);
    for number in 0..streams {
        let (stream, path) = (2 * number + 1, format!("/page/{connection}/{number}"));
        hand.send(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", &path, &[]));
        hand.send(RST_STREAM, 0, stream, &8u32.to_be_bytes());
    }
}

/// Returns the number of open connections to an address of this machine.
fn connections_to(address: &str) -> usize {
    let (_, port) = address.rsplit_once(':').expect("a port");
    let to = format!("0100007F:{:04X}", port.parse::<u16>().expect("a port"));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the system's connections");
    // Number, local address, remote address, state: 01 is an established connection.
    let of = |line: &str| line.split_whitespace().skip(2).take(2).eq([to.as_str(), "01"]);
    table.lines().filter(|line| of(line)).count()
}

/// Starts a worker with 128 connections and these rules.
fn small_worker(rules: &str) -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let rules = format!(
        "http2 on; {rules} location = /here {{ return 200 here; }}
         location /uncached {{ fastcgi_cache off; fastcgi_pass @ORIGIN@; }}"
    );
    let main = "worker_processes 1; events { worker_connections 128; }";
    let (server, origin) = Cached { main, server: &rules, ..Cached::default() }.start(move |call| {
        held.pass();
        let uri = call.uri().to_owned();
        call.answer("Content-Type: text/plain", uri);
    });
    (server, origin, gate)
}

#[test]
fn rapid_resets_open_no_more_connections_than_the_bound() {
    for rules in ["", "fastcgi_ignore_client_abort on;"] {
        let (server, origin, gate) = small_worker(rules);
        for connection in 0..15 {
            reset_all(server.port, connection, 100);
            assert_eq!(
                server.get("/here").text(),
                "here",
                "requests that need no origin are served meanwhile"
            );
            let open = connections_to(&origin.address);
            assert!(open <= 64, "{open} connections to the origin");
        }
        gate.open();
        assert_eq!(server.get("/page/next").text(), "/page/next");
        assert!(origin.count() <= 65, "{} of 1500 abandoned requests were sent", origin.count());
    }
}

#[test]
fn resets_of_what_the_origin_was_sent_leave_it_half_of_the_connections() {
    for path in ["/page", "/uncached"] {
        let (server, origin, gate) = small_worker("fastcgi_ignore_client_abort on;");
        for connection in 0..4 {
            let mut hand = Hand::greet(server.port, &[]);
            let streams = (0..100).map(|number| 2 * number + 1);
            for stream in streams.clone() {
                hand.get(stream, &format!("{path}/{connection}/{stream}"), &[]);
            }
            origin.wait_for(64);
            assert_eq!(
                server.get("/here").text(),
                "here",
                "requests that need no origin are served meanwhile"
            );
            for stream in streams {
                hand.send(RST_STREAM, 0, stream, &8u32.to_be_bytes());
            }
            // The kernel's table is not read at one moment: connections that are being replaced may be counted twice.
            wait_for("at most 64 connections to the origin", || connections_to(&origin.address) <= 64);
        }
        gate.open();
        assert_eq!(server.get("/page/next").text(), "/page/next");
        assert_eq!(origin.count(), 65, "{path}");
    }
}

#[test]
fn connections_to_origins_take_half_of_a_workers_and_the_rest_wait() {
    let (server, origin, gate) = small_worker("");
    // Over HTTP/2 many requests use one client connection.
    let mut hand = Hand::greet(server.port, &[]);
    for number in 0..100 {
        hand.get(2 * number + 1, &format!("/uncached/{number}"), &[]);
    }
    origin.wait_for(64);
    assert_eq!(server.get("/here").text(), "here");
    assert_eq!(origin.connections(), 64);
    gate.open();
    let mut ended = 0;
    while ended < 100 {
        let frame = hand.next().expect("an answer to each");
        ended += usize::from(frame.kind <= HEADERS && frame.flags & END_STREAM != 0);
    }
    assert_eq!(origin.count(), 100);
}
