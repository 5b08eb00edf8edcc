//! Fetches are bounded, wait in order, and end when nobody waits for them.
//!
//! covers: queue client_body_temp_max_size

use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use myriad_tests::frames::{END_HEADERS, END_STREAM, HEADERS, Hand, RST_STREAM, head};
use myriad_tests::{Answer, Cached, Call, Client, Gate, Origin, Request, Server, wait_for};

/// How often the error log says something.
fn said(server: &Server, text: &str) -> usize {
    server.read("error.log").matches(text).count()
}

/// An origin that holds requests for `/held...` until the gate is open, and answers all with their URIs.
fn holding(gate: &Arc<Gate>) -> impl Fn(&mut Call) + Send + Sync + 'static {
    let gate = Arc::clone(gate);
    move |call| {
        if call.uri().starts_with("/held") {
            gate.pass();
        }
        let uri = call.uri().to_owned();
        call.answer("Content-Type: text/plain", uri);
    }
}

/// Asks for so many pages at once, each on a connection of its own; the answers come as they are ready.
fn ask_all(server: &Server, targets: &[&str]) -> Receiver<Answer> {
    let (sender, answers): (Sender<Answer>, _) = channel();
    for target in targets {
        let (port, request, sender) = (server.port, Request::get(target), sender.clone());
        thread::spawn(move || sender.send(Client::connect(port).fetch(&request)));
    }
    answers
}

fn statuses(answers: &Receiver<Answer>) -> Vec<u16> {
    let mut statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    statuses
}

/// One php-fpm child, and what its group says of those who wait for it.
fn one_child(queue: &str) -> String {
    format!("upstream php {{ server @ORIGIN@ max_conns=1; {queue} }}")
}

const UNCACHED: &str = "location /u { fastcgi_cache off; fastcgi_pass php; }
                        location /held { fastcgi_cache off; fastcgi_pass php; }
                        location /page { fastcgi_pass php; }";

fn before_one_child(queue: &str, rules: &str) -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let server = format!("fastcgi_cache_valid 1h; {rules} {UNCACHED}");
    let site = Cached { http: &one_child(queue), server: &server, ..Cached::default() };
    let (server, origin) = site.start(holding(&gate));
    (server, origin, gate)
}

fn hold(server: &Server, origin: &Origin, target: &str) -> Client {
    let mut client = server.connect();
    client.send(Request::get(target).bytes());
    origin.wait_for(1);
    client
}

#[test]
fn a_queue_holds_what_the_peer_cannot_take_and_refuses_the_rest() {
    let (server, origin, gate) = before_one_child("queue 2;", "");
    let mut held = hold(&server, &origin, "/held");
    let answers = ask_all(&server, &["/u1", "/u2", "/u3"]);
    assert_eq!(answers.recv().expect("the first answer").status, 502, "only two may wait");
    assert_eq!(said(&server, "the queue of the upstream is full"), 1);
    assert_eq!(origin.count(), 1, "the peer takes one at a time");
    gate.open();
    assert_eq!(held.answer().status, 200);
    assert_eq!(statuses(&answers), [200, 200]);
    assert_eq!(origin.count(), 3);
}

#[test]
fn a_wait_in_the_queue_ends_with_its_time() {
    let (server, origin, gate) = before_one_child("queue 2 timeout=50ms;", "");
    let mut held = hold(&server, &origin, "/held");
    assert_eq!(server.get("/u").status, 502);
    server.log_has("no peer of the upstream became free in time");
    gate.open();
    assert_eq!((held.answer().status, origin.count()), (200, 1));
}

#[test]
fn whoever_leaves_the_queue_is_not_asked_for() {
    for rules in ["", "fastcgi_ignore_client_abort on;"] {
        let (server, origin, gate) = before_one_child("queue 300;", rules);
        let mut held = hold(&server, &origin, "/held");
        let mut gone: Vec<Client> = Vec::new();
        for number in 0..200 {
            let mut client = server.connect();
            client.send(Request::get(&format!("/page/{number}")).bytes());
            gone.push(client);
        }
        drop(gone);
        wait_for("the fetches to end", || said(&server, "nobody waits for it") == 200);
        gate.open();
        assert_eq!(held.answer().status, 200);
        assert_eq!(server.get("/page/next").text(), "/page/next");
        assert_eq!(origin.calls(), ["GET /held", "GET /page/next"]);
    }
}

#[test]
fn stale_page_stands_in_where_the_group_is_busy() {
    let gate = Arc::new(Gate::new());
    let rules = format!("fastcgi_cache_valid 1s; fastcgi_cache_use_stale error; {UNCACHED}");
    let site = Cached { http: &one_child(""), server: &rules, ..Cached::default() };
    let (server, origin) = site.start(holding(&gate));
    assert_eq!(server.get("/page").cache(), "MISS");
    thread::sleep(Duration::from_millis(2100)); // validity counts seconds: nothing but time ends it
    let mut held = server.connect();
    held.send(Request::get("/held").bytes());
    origin.wait_for(2);
    let stale = server.get("/page");
    assert_eq!((stale.status, stale.cache(), stale.text().as_str()), (200, "STALE", "/page"));
    assert_eq!(server.get("/page/other").status, 502, "there is nothing to stand in");
    gate.open();
    assert_eq!(held.answer().status, 200);
    assert_eq!(server.get("/page").cache(), "EXPIRED");
}

/// A site whose page is on its way, and whose only visitor has gone.
fn abandoned(rules: &str, begun: impl Fn(&mut Call) + Send + Sync + 'static) -> (Server, Origin) {
    let rules = format!("fastcgi_cache_valid 1h; access_log @DIR@/left.log; {rules}");
    let (server, origin) = Cached { server: &rules, ..Cached::default() }.start(begun);
    drop(hold(&server, &origin, "/page"));
    wait_for("the visitor to leave", || server.read("left.log").contains(" 499 "));
    (server, origin)
}

#[test]
fn fetch_that_nobody_waits_for_is_aborted_before_its_answer_begins() {
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

fn bounded(zone: &str, rules: &str) -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let (server, origin) = Cached { zone, server: rules, ..Cached::default() }.start(holding(&gate));
    (server, origin, gate)
}

#[test]
fn fetches_that_fill_a_zone_are_bounded_and_queue() {
    let (server, origin, gate) = bounded("max_fetches=1 fetch_queue=1", "fastcgi_cache_valid 1h;");
    let mut held = hold(&server, &origin, "/held");
    let answers = ask_all(&server, &["/a", "/b"]);
    assert_eq!(answers.recv().expect("the first answer").status, 503, "only one may wait");
    server.log_has("too many fetches fill zone \"pages\"");
    assert_eq!(origin.count(), 1);
    gate.open();
    assert_eq!(held.answer().status, 200);
    assert_eq!(statuses(&answers), [200]);
    assert_eq!(origin.count(), 2);
}

#[test]
fn stale_page_stands_in_where_too_many_fetches_fill_the_zone() {
    let rules = "fastcgi_cache_valid 1s; fastcgi_cache_use_stale error;";
    let (server, origin, gate) = bounded("max_fetches=1 fetch_queue=0", rules);
    assert_eq!(server.get("/page").cache(), "MISS");
    thread::sleep(Duration::from_millis(2100)); // validity counts seconds: nothing but time ends it
    let mut held = server.connect();
    held.send(Request::get("/held").bytes());
    origin.wait_for(2);
    let stale = server.get("/page");
    assert_eq!((stale.status, stale.cache(), stale.text().as_str()), (200, "STALE", "/page"));
    assert_eq!(server.get("/other").status, 503, "there is nothing to stand in");
    gate.open();
    assert_eq!(held.answer().status, 200);
    wait_for("room for the next fetch", || server.get("/page").cache() == "EXPIRED");
}

#[test]
fn refresh_behind_a_stale_page_does_not_begin_at_the_bound() {
    let rules = "fastcgi_cache_use_stale updating; fastcgi_cache_background_update on;
                 fastcgi_cache_valid 1s;";
    let one_fetch = ("max_fetches=1", "", "");
    let one_peer = ("", "upstream php { server @ORIGIN@ max_conns=1; queue 9; }", UNCACHED);
    for (zone, http, locations) in [one_fetch, one_peer] {
        let gate = Arc::new(Gate::new());
        let server = format!("{rules} {locations}");
        let site = Cached { zone, http, server: &server, ..Cached::default() };
        let (server, origin) = site.start(holding(&gate));
        assert_eq!(server.get("/page").cache(), "MISS");
        thread::sleep(Duration::from_millis(2100)); // validity counts seconds: nothing but time ends it
        let mut held = server.connect();
        held.send(Request::get("/held").bytes());
        origin.wait_for(2);
        for _ in 0..3 {
            let stale = server.get("/page");
            assert_eq!((stale.status, stale.text().as_str()), (200, "/page"));
            // Behind a busy peer a refresh began, and ended at once.
            assert!(zone.is_empty() || stale.cache() == "STALE", "nobody updates it: {}", stale.cache());
        }
        gate.open();
        assert_eq!(held.answer().status, 200);
        assert_eq!(origin.calls(), ["GET /page", "GET /held"]);
        wait_for("the refresh that a later visitor begins", || {
            server.get("/page");
            origin.count() > 2
        });
    }
}

/// Opens so many streams for distinct pages and resets each at once, as fast as it can.
fn reset_all(port: u16, connection: usize, streams: u32) {
    let mut hand = Hand::greet(port, &[]);
    for number in 0..streams {
        let (stream, path) = (2 * number + 1, format!("/page/{connection}/{number}"));
        hand.send(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", &path, &[]));
        hand.send(RST_STREAM, 0, stream, &8u32.to_be_bytes());
    }
}

/// How many connections to an address of this machine are open.
fn connections_to(address: &str) -> usize {
    let (_, port) = address.rsplit_once(':').expect("a port");
    let to = format!("0100007F:{:04X}", port.parse::<u16>().expect("a port"));
    let table = std::fs::read_to_string("/proc/net/tcp").expect("the system's connections");
    // The number, the own address, that of the other end, the state: 01 is an open connection.
    let of = |line: &str| line.split_whitespace().skip(2).take(2).eq([to.as_str(), "01"]);
    table.lines().filter(|line| of(line)).count()
}

/// A worker with 128 connections, and what it may do with them.
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
            assert_eq!(server.get("/here").text(), "here", "who needs no origin is served meanwhile");
            let open = connections_to(&origin.address);
            assert!(open <= 64, "{open} connections to the origin");
        }
        gate.open();
        assert_eq!(server.get("/page/next").text(), "/page/next");
        assert!(origin.count() <= 65, "{} of 1500 that nobody waits for were sent", origin.count());
    }
}

#[test]
fn resets_of_what_the_origin_was_sent_leave_it_half_of_the_connections() {
    let (server, origin, gate) = small_worker("fastcgi_ignore_client_abort on;");
    for connection in 0..4 {
        let mut hand = Hand::greet(server.port, &[]);
        let streams = (0..100).map(|number| 2 * number + 1);
        for stream in streams.clone() {
            hand.get(stream, &format!("/page/{connection}/{stream}"), &[]);
        }
        origin.wait_for(64);
        assert_eq!(server.get("/here").text(), "here", "who needs no origin is served meanwhile");
        for stream in streams {
            hand.send(RST_STREAM, 0, stream, &8u32.to_be_bytes());
        }
        let open = connections_to(&origin.address);
        assert!(open <= 64, "{open} connections to the origin");
    }
    gate.open();
    assert_eq!(server.get("/page/next").text(), "/page/next");
    assert_eq!(origin.count(), 65);
}

#[test]
fn connections_to_origins_take_half_of_a_workers_and_the_rest_wait() {
    let (server, origin, gate) = small_worker("");
    // Over HTTP/2 many requests cost one connection of the client.
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

/// Most memory that a server's worker process has held so far, MB.
fn memory_peak(server: &Server) -> usize {
    let worker = server.workers()[0];
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("kilobytes") >> 10
}

/// Gzip that comes to `length` zeros.
fn bomb(length: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![0; length]).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn bodies_that_are_unpacked_are_held_within_the_bounds_of_their_zone() {
    const LENGTH: usize = 24 << 20;
    let packed = bomb(LENGTH);
    let site = Cached { zone: "memory=16m", ..Cached::default() };
    let (server, _origin) = site.start(move |call| {
        call.answer("Content-Type: application/x-zeros\nContent-Encoding: gzip", &packed);
    });
    let before = memory_peak(&server);
    let targets: Vec<_> = (0..12).map(|number| format!("/{number}")).collect();
    let clients = targets.iter().map(|target| {
        let (port, request) = (server.port, Request::get(target));
        thread::spawn(move || {
            let mut client = Client::connect(port);
            client.send(request.bytes());
            assert_eq!(client.head().status, 200);
            // Until the end, without holding it here.
            let mut zeros = 0;
            while zeros < LENGTH {
                let piece = client.some();
                assert!(!piece.is_empty(), "cut after {zeros} bytes");
                zeros += piece.split(|byte| *byte != 0).map(<[u8]>::len).sum::<usize>();
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.join().expect("a whole body");
    }
    let grown = memory_peak(&server) - before;
    // The zone's own 16 MB, and what sockets, allocator and decoders take.
    assert!(grown < 48, "{grown} MB more");
}

#[test]
fn bodies_that_nobody_reads_on_are_held_within_the_bounds_of_their_zone() {
    let packed = bomb(24 << 20);
    let site = Cached { zone: "memory=16m", ..Cached::default() };
    let (server, origin) = site.start(move |call| {
        call.answer("Content-Type: application/x-zeros\nContent-Encoding: gzip", &packed);
    });
    let before = memory_peak(&server);
    let mut stalled = Vec::new();
    for number in 0..12 {
        let mut client = server.connect();
        client.send(Request::get(&format!("/{number}")).bytes());
        assert_eq!(client.head().status, 200);
        stalled.push(client);
    }
    assert_eq!(origin.count(), 12);
    // Others are served meanwhile, and get theirs whole.
    let whole = server.get("/one-more");
    assert_eq!((whole.status, whole.body.len()), (200, 24 << 20));
    let grown = memory_peak(&server) - before;
    assert!(grown < 48, "{grown} MB more");
}

#[test]
fn bodies_of_all_requests_in_files_are_bounded_together() {
    let gate = Arc::new(Gate::new());
    let rules = "client_body_buffer_size 1k; client_body_temp_max_size 100k;";
    let (server, origin) = Cached { server: rules, ..Cached::default() }.start(holding(&gate));
    let post = |target: &str| Request::post(target, vec![b'x'; 80 << 10]);
    let mut held = server.connect();
    held.send(post("/held").bytes());
    origin.wait_for(1);
    assert_eq!(server.fetch(&post("/second")).status, 503, "two are more than there may be");
    server.log_has("those in temporary files may take 102400 bytes together");
    assert_eq!(server.get("/none").text(), "/none", "who sends no body is served");
    gate.open();
    assert_eq!(held.answer().status, 200);
    wait_for("room for the next body", || server.fetch(&post("/third")).status == 200);
    assert!(!origin.calls().contains(&"POST /second".to_owned()));
}

/// More than what sockets hold on the way to a client that does not read.
const LONG: usize = 32 << 20;

#[test]
fn a_slow_reader_of_a_page_too_long_for_memory_holds_no_php_child() {
    let rules = "fastcgi_cache_valid 1h; location /page { fastcgi_pass php; }";
    for (zone, head) in [("", ""), ("", "Content-Length: 33554432\n"), ("max_size=1m", "")] {
        let site = Cached { zone, http: &one_child("queue 1;"), server: rules, ..Cached::default() };
        let (server, origin) = site.start(move |call| {
            let length = if call.uri() == "/page/long" { LONG } else { 4 };
            let head = if length == LONG { head } else { "" };
            call.answer(&format!("Content-Type: image/png\n{head}"), vec![b'x'; length]);
        });
        let mut slow = Client::connect(server.port);
        slow.send(Request::get("/page/long").bytes());
        wait_for("the end of the page at its origin", || origin.finished() == 1);
        assert_eq!(server.get("/page/short").text(), "xxxx", "{zone} {head}");
        let body = slow.answer().body;
        assert!(body.len() == LONG && body.iter().all(|byte| *byte == b'x'), "{zone} {head}");
    }
}
