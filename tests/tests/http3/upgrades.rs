//! Binary upgrades: a connection remains with the process that accepted it, regardless of the process that receives its
//! datagrams.

use std::sync::atomic::{AtomicBool, Ordering};

use myriad_tests::{
    BareQuic, Network, QuicClient, QuicVisitor, Request, Server, Signal, children_of, is_alive, signal,
    wait_for,
};

use super::shutdown::{held, slow_before};
use super::{GET, connect, connect_bare, has, headers, start, text};

/// Size of the downloaded file, in bytes: several times the flow control window of a client.
const LONG: usize = 6 << 20;

/// Starts a server with a long file, and a location that returns the process id.
fn start_long(main: &str, directives: &str) -> Server {
    let server = start(main, "", &format!("location /pid {{ return 200 $pid; }} {directives}"));
    server.write("html/long", "0123456789abcde\n".repeat(LONG / 16));
    server
}

/// Returns the supervisor in the pid file.
fn serving(server: &Server, file: &str) -> Option<u32> {
    server.path(file).exists().then(|| server.read(file).trim().parse().ok())?
}

/// Starts the new binary in addition to the running process, and waits until it receives new connections; returns the
/// old and the new supervisor.
fn upgrade(server: &Server) -> (u32, u32) {
    let old = serving(server, "myriad.pid").expect("a pid");
    signal(old, Signal::USR2);
    let mut new = None;
    wait_for("the new binary", || {
        new = serving(server, "myriad.pid").filter(|new| *new != old);
        new.is_some()
    });
    let new = new.expect("waited for");
    answered_by(server, new);
    (old, new)
}

fn worker(supervisor: u32) -> String {
    worker_if_one(supervisor).expect("one worker process")
}

/// Returns the worker process, if it is the only child.
fn worker_if_one(supervisor: u32) -> Option<String> {
    let [worker] = children_of(supervisor)[..] else { return None };
    Some(worker.to_string())
}

/// Returns the worker process that answers a new connection; `None` if it sends `GOAWAY`, after which a client would
/// retry.
fn who_answers(server: &Server) -> Option<String> {
    let mut client = QuicVisitor::new().connect(server.port).ok()?;
    client.fetch(&Request::get("/pid")).ok().map(|answer| answer.text())
}

/// Waits until several consecutive connections reach a supervisor, because two processes may receive datagrams for a
/// moment. Its other children are newer supervisors.
fn answered_by(server: &Server, supervisor: u32) {
    let by_it = |text: String| children_of(supervisor).iter().any(|child| child.to_string() == text);
    let mut in_a_row = 0;
    wait_for("new connections", || {
        in_a_row = if who_answers(server).is_some_and(by_it) { in_a_row + 1 } else { 0 };
        in_a_row == 8
    });
}

/// Requests the long file and reads only its beginning.
fn begin_download(server: &Server) -> (BareQuic, usize) {
    let (mut client, _) = connect_bare(server);
    let stream = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x05/long"])).expect("a request");
    client.end(stream);
    client.told(0, 13).expect("settings");
    client.begun_answer(stream, 1).expect("an answer");
    (client, stream)
}

fn end_download((mut client, stream): (BareQuic, usize)) {
    let answer = client.long_answer(stream, 2 * LONG).expect("the whole file");
    assert!(answer.len() > LONG && answer.ends_with(b"0123456789abcde\n"), "{}", answer.len());
}

#[test]
fn connections_go_on_over_an_upgrade_and_new_ones_are_the_new_binarys() {
    let (origin, gate) = held();
    let mut server = start_long("worker_processes 2;", &slow_before(&origin));
    let old_worker = worker(server.pid());
    let mut idle: Vec<QuicClient> = (0..4).map(|_| connect(&server)).collect();
    for client in &mut idle {
        assert_eq!(client.get("/pid").text(), old_worker);
    }
    let downloads: Vec<_> = (0..3).map(|_| begin_download(&server)).collect();
    let (mut waiting, _) = connect_bare(&server);
    waiting.told(0, 13).expect("settings");
    let slow = waiting.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x05/slow"])).expect("a request");
    waiting.end(slow);
    waiting.wait_until("the slow request", || origin.count() == 1);

    let (old, new) = upgrade(&server);
    for client in &mut idle {
        assert_eq!(client.get("/pid").text(), old_worker, "each process serves its own connections");
    }
    // The clients must be polled, because a suspended client receives a reset when its connection has closed.
    let ends = idle.into_iter().map(|client| std::thread::spawn(move || format!("{:?}", client.ended())));
    let ends: Vec<_> = ends.collect();
    signal(old, Signal::QUIT);
    // RFC 9114 section 5.2: earlier requests are answered, later requests are not accepted.
    assert_eq!(waiting.told(0, 3).expect("a GOAWAY"), [7, 1, 4]);
    let late = waiting.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"])).expect("a stream");
    waiting.end(late);
    let error = waiting.answer(late).expect_err("the late request is rejected");
    assert!(error.contains("Reset") && error.contains(&0x10b.to_string()), "{error}");
    for end in ends {
        let why = end.join().expect("an end");
        assert!(why.contains("ApplicationClosed") && why.contains("256"), "{why}");
    }
    downloads.into_iter().for_each(end_download);
    gate.open();
    assert!(has(&waiting.answer(slow).expect("an answer"), &"x".repeat(16_000)));
    drop(waiting);
    assert!(server.ended(), "the old process exits successfully");
    answered_by(&server, new);
    signal(new, Signal::TERM);
}

#[test]
fn three_binaries_have_each_its_connections() {
    let mut server = start_long("worker_processes 2;", "");
    let first_download = begin_download(&server);
    let (first, second) = upgrade(&server);
    signal(first, Signal::QUIT);
    let second_download = begin_download(&server);
    let (_, third) = upgrade(&server);
    let third_download = begin_download(&server);
    // The middle process stops first, which breaks the chain between the first and the third.
    signal(second, Signal::QUIT);
    end_download(second_download);
    wait_for("the end of the second", || !is_alive(second));
    // A worker that is unknown to the first process forwards its datagrams.
    let worker = children_of(third)[0];
    drop(third_download);
    signal(worker, Signal::KILL);
    wait_for("another worker", || children_of(third).first().is_some_and(|pid| *pid != worker));
    answered_by(&server, third);
    end_download(first_download);
    assert!(server.ended());
    answered_by(&server, third);
    signal(third, Signal::TERM);
}

#[test]
fn going_back_leaves_the_new_ones_connections_whole() {
    let server = start_long("worker_processes 2;", "");
    let mut kept = connect(&server);
    let old_worker = kept.get("/pid").text();
    let (old, new) = upgrade(&server);
    let download = begin_download(&server);
    signal(new, Signal::QUIT);
    answered_by(&server, old);
    end_download(download);
    wait_for("the end of the new one", || !is_alive(new));
    assert_eq!(kept.get("/pid").text(), old_worker);
    // Another upgrade.
    let (_, new) = upgrade(&server);
    assert_eq!(kept.get("/pid").text(), old_worker);
    signal(new, Signal::KILL);
    wait_for("the old one alone", || serving(&server, "myriad.pid") == Some(old));
    wait_for("its connections", || who_answers(&server).as_ref() == Some(&old_worker));
    assert_eq!(kept.get("/pid").text(), old_worker);
}

/// A changed limit of open files requires a new worker process.
#[test]
fn reload_that_replaces_the_worker_process_leaves_connections_whole() {
    let server = start_long("worker_rlimit_nofile 4096;", "");
    let download = begin_download(&server);
    let before = worker(server.pid());
    server.reload(&text("", "location /pid { return 200 $pid; }"));
    wait_for("the next process", || who_answers(&server).is_some_and(|it| it != before));
    end_download(download);
    wait_for("the end of the one before", || worker_if_one(server.pid()).is_some_and(|it| it != before));
    answered_by(&server, server.pid());
}

#[test]
fn clients_of_departed_old_process_get_stateless_reset() {
    // The old process would wait until the client has acknowledged the last response.
    let mut server = start_long("worker_shutdown_timeout 100ms;", "");
    let network = Network::before(server.port);
    let mut deaf = QuicVisitor::new().connect(network.port).expect("a connection");
    assert_eq!(deaf.get("/a.txt").status, 200);
    let (old, new) = upgrade(&server);
    assert_eq!(deaf.get("/a.txt").status, 200);
    network.lose_answers(true);
    signal(old, Signal::QUIT);
    assert!(server.ended());
    network.lose_answers(false);
    let mut why = String::new();
    wait_for("the reset", || {
        why = deaf.fetch(&Request::get("/a.txt")).err().unwrap_or_default();
        !why.is_empty()
    });
    assert!(format!("{:?}", deaf.ended()).contains("Reset"), "{why}");
    signal(new, Signal::TERM);
}

#[test]
fn what_is_under_way_ends_in_the_time_that_is_written() {
    let mut server = start_long("worker_shutdown_timeout 100ms;", "");
    let (download, _) = begin_download(&server);
    let (old, new) = upgrade(&server);
    signal(old, Signal::QUIT);
    assert!(server.ended());
    let why = format!("{:?}", download.ended());
    assert!(why.contains("ApplicationClosed") || why.contains("Reset"), "{why}");
    signal(new, Signal::TERM);
}

#[test]
fn upgrades_under_load_lose_no_request() {
    let server = start_long("worker_processes 2;", "");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3).map(|_| scope.spawn(|| ask_until(&server, &over))).collect();
        for _ in 0..4 {
            let (old, _) = upgrade(&server);
            signal(old, Signal::QUIT);
        }
        over.store(true, Ordering::Relaxed);
        for client in clients {
            let asked = client.join().expect("no request is lost");
            assert!(asked > 100, "{asked}");
        }
    });
    signal(serving(&server, "myriad.pid").expect("a pid"), Signal::TERM);
}

/// Sends concurrent requests repeatedly; returns their number. Rejected requests may be retried (RFC 9114 section 5.2),
/// other failures are errors.
fn ask_until(server: &Server, over: &AtomicBool) -> usize {
    let mut client = connect(server);
    let mut worker = client.get("/pid").text();
    let mut answered = 0;
    while !over.load(Ordering::Relaxed) {
        let asked: Vec<Request> =
            (0..20).flat_map(|_| [Request::get("/pid"), Request::get("/a.txt")]).collect();
        let mut is_over = false;
        for answer in client.fetch_together(&asked) {
            match answer {
                Ok(answer) => {
                    assert_eq!(answer.status, 200);
                    answered += 1;
                }
                Err(why) => {
                    let safe = ["H3_REQUEST_REJECTED", "H3_NO_ERROR", "is closing"];
                    // A suspended client receives a reset after its process has exited, and no other client does.
                    let is_gone = || why.contains("reset by peer") && has_ended(&worker);
                    assert!(safe.iter().any(|safe| why.contains(safe)) || is_gone(), "{why}");
                    is_over = true;
                }
            }
        }
        if is_over {
            client = connect(server);
            worker = client.get("/pid").text();
        }
    }
    answered
}

/// Waits until a process has exited, and returns true. A process whose client was reset by another process would not
/// exit, because it waits for that client.
fn has_ended(pid: &str) -> bool {
    let pid = pid.parse().expect("a process number");
    wait_for("the end of the client's process", || !is_alive(pid));
    true
}
