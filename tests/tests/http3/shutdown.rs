//! Connection shutdown: reloads, server stop, a worker that dies.

use std::sync::Arc;
use std::time::Duration;

use myriad_tests::{Gate, HttpOrigin, Network, QuicClient, QuicVisitor, Request, Signal, signal, wait_for};

use super::{GET, connect, connect_bare, has, headers, start, text};

/// Returns an origin whose response is blocked until the gate is opened.
pub(super) fn held() -> (HttpOrigin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = HttpOrigin::start(move |call| {
        held.pass();
        call.answer("HTTP/1.1 200 OK", vec![b'x'; 16_000]);
    });
    (origin, gate)
}

pub(super) fn slow_before(origin: &HttpOrigin) -> String {
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
    // RFC 9114 section 5.2: first request that is not accepted.
    assert_eq!(client.told(0, 3).expect("a GOAWAY"), [7, 1, 4]);
    let late = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"])).expect("a stream");
    client.end(late);
    let error = client.answer(late).expect_err("the late request is rejected");
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
                        // A client may retry these requests: they were rejected, or sent after the connection had
                        // closed. (A client that was suspended in the meantime receives a reset as well.)
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
fn reload_during_handshake_is_signalled_by_goaway_when_handshake_completes() {
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
fn clients_of_dead_worker_get_stateless_reset() {
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

/// The record of accepted tokens is lost with the process.
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

#[test]
fn connections_without_keepalive_answer_first_request_at_any_time() {
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
