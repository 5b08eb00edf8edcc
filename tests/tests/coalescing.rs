//! Request coalescing: one origin request per page (`fastcgi_cache_lock`), without polling.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use myriad_tests::{Answer, Cached, Client, Gate, PATIENCE, Request, all_at_once, wait_for};

/// Asserts that all responses are the same page.
fn all_are(answers: &[Answer], text: &str) {
    for answer in answers {
        assert_eq!((answer.status, answer.text().as_str()), (200, text), "{answer:?}");
    }
}

/// Barrier for a number of requests that must be in flight at the same time.
struct Meeting {
    expected: usize,
    come: Mutex<usize>,
    all: Condvar,
}

impl Meeting {
    fn of(expected: usize) -> Self {
        Self { expected, come: Mutex::new(0), all: Condvar::new() }
    }

    /// Waits for the other requests; returns false if they do not arrive, because they are queued.
    fn takes_place(&self) -> bool {
        let mut come = self.come.lock().expect("no thread panicked");
        *come += 1;
        self.all.notify_all();
        let waited = self.all.wait_timeout_while(come, PATIENCE, |come| *come < self.expected);
        !waited.expect("no thread panicked").1.timed_out()
    }
}

fn with(server: &str) -> Cached<'_> {
    Cached { server, ..Cached::default() }
}

fn two_hundred_cost_one_request(main: &str, server: &str) {
    let site = Cached { main, server, ..Cached::default() };
    let (server, origin) = site.start(|call| {
        thread::sleep(Duration::from_millis(300)); // response time of PHP; all other requests arrive
        let text = format!("page {}", call.number);
        call.answer("Content-Type: text/plain", text);
    });
    all_are(&all_at_once(server.port, 200, &Request::get("/rush")), "page 1");
    assert_eq!(origin.count(), 1);
    all_are(&all_at_once(server.port, 50, &Request::get("/rush")), "page 1");
    assert_eq!(origin.count(), 1);
}

#[test]
fn two_hundred_clients_cost_one_origin_request() {
    two_hundred_cost_one_request("", "fastcgi_cache_valid 1h; fastcgi_cache_lock on;");
}

#[test]
fn two_hundred_clients_cost_one_origin_request_with_two_workers() {
    two_hundred_cost_one_request("worker_processes 2;", "fastcgi_cache_valid 1h; fastcgi_cache_lock on;");
}

#[test]
fn the_lock_is_on_where_nothing_is_written() {
    two_hundred_cost_one_request("", "fastcgi_cache_valid 1h;");
}

#[test]
fn requests_without_cache_lock_fetch_separately() {
    let meeting = Meeting::of(2);
    let (server, origin) = with("fastcgi_cache_valid 1h; fastcgi_cache_lock off;").start(move |call| {
        let text = if meeting.takes_place() { "page" } else { "for one alone" };
        call.answer("Content-Type: text/plain", text);
    });
    all_are(&all_at_once(server.port, 10, &Request::get("/")), "page");
    assert!(origin.count() > 1);
}

#[test]
fn waiters_read_the_page_while_it_arrives() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, origin) = Cached::default().start(move |call| {
        call.answer("Content-Type: application/x-parts", "x".repeat(100_000));
        held.pass();
        call.send("the end");
    });
    let mut first = server.connect();
    first.send(Request::get("/").bytes());
    origin.wait_for(1);
    let mut waiters: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    for waiter in &mut waiters {
        waiter.send(Request::get("/").bytes());
        assert_eq!(waiter.head().status, 200, "the head comes before the page is whole");
        waiter.until(|seen| seen.len() >= 90_000);
    }
    gate.open();
    for waiter in &mut waiters {
        waiter.until(|tail| tail.windows(7).any(|window| window == b"the end"));
    }
    assert_eq!(first.answer().body.len(), 100_007);
    assert_eq!(origin.count(), 1);
}

#[test]
fn the_others_get_the_page_when_the_first_client_leaves() {
    for gone_after_the_head in [false, true] {
        let (begun, gate) = (Arc::new(Gate::new()), Arc::new(Gate::new()));
        let (on_begun, held) = (Arc::clone(&begun), Arc::clone(&gate));
        let (server, origin) = Cached::default().start(move |call| {
            if gone_after_the_head {
                call.answer("Content-Type: text/plain", "the ");
            }
            on_begun.open();
            held.pass();
            if !gone_after_the_head {
                call.answer("Content-Type: text/plain", "the ");
            }
            call.send("whole page");
        });
        let mut first = server.connect();
        first.send(Request::get("/").bytes());
        begun.pass();
        let port = server.port;
        let others: Vec<_> =
            (0..10).map(|_| thread::spawn(move || Client::connect(port).fetch(&Request::get("/")))).collect();
        thread::sleep(Duration::from_millis(100)); // the others wait, or join the fetch in progress
        drop(first);
        thread::sleep(Duration::from_millis(100)); // the server has detected the disconnect
        gate.open();
        let answers: Vec<_> = others.into_iter().map(|other| other.join().expect("an answer")).collect();
        all_are(&answers, "the whole page");
        assert_eq!(origin.count(), 1);
        assert_eq!(
            server.get("/").cache(),
            "HIT",
            "the fetch continued after the first client had disconnected"
        );
    }
}

#[test]
fn page_is_stored_although_its_only_client_disconnected() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, origin) =
        with("fastcgi_cache_valid 1h; fastcgi_ignore_client_abort on;").start(move |call| {
            held.pass();
            call.answer("Content-Type: text/plain", "finished alone");
        });
    let mut client = server.connect();
    client.send(Request::get("/").bytes());
    origin.wait_for(1);
    drop(client);
    thread::sleep(Duration::from_millis(50));
    gate.open();
    wait_for("the stored page", || server.get("/").cache() == "HIT");
    assert_eq!(origin.count(), 1);
}

#[test]
fn an_answer_that_cannot_be_shared_frees_the_waiters_at_once() {
    // All requests except the first, which determines cacheability; and later requests.
    let (freed, next) = (Meeting::of(39), Meeting::of(10));
    let (server, origin) = Cached::default().start(move |call| {
        let queues = match call.number {
            1 => false,
            2..=40 => !freed.takes_place(),
            _ => !next.takes_place(),
        };
        let text = if queues { "queued".to_owned() } else { format!("for {} alone", call.number) };
        call.answer("Content-Type: text/plain\nCache-Control: private", text);
    });
    let answers = all_at_once(server.port, 40, &Request::get("/"));
    let mut texts: Vec<_> = answers.iter().map(Answer::text).collect();
    texts.sort();
    texts.dedup();
    assert_eq!((texts.len(), origin.count()), (40, 40), "each client gets its own page");
    assert!(
        !texts.iter().any(|text| text == "queued"),
        "requests for a page that is not shareable do not queue"
    );
    // Hit-for-miss: later requests do not wait.
    let answers = all_at_once(server.port, 10, &Request::get("/"));
    assert!(
        answers.iter().all(|answer| answer.text().ends_with(" alone")),
        "later requests did not wait for each other"
    );
}

#[test]
fn a_waiter_loses_patience_after_lock_timeout() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, origin) = with(
        "fastcgi_cache_valid 1h; fastcgi_cache_lock on; fastcgi_cache_lock_timeout 300ms;",
    )
    .start(move |call| {
        if call.number == 1 {
            held.pass();
        }
        let text = format!("page {}", call.number);
        call.answer("Content-Type: text/plain", text);
    });
    let mut first = server.connect();
    first.send(Request::get("/").bytes());
    origin.wait_for(1);
    let began = Instant::now();
    assert_eq!(server.get("/").text(), "page 2");
    assert!(began.elapsed() >= Duration::from_millis(300) && began.elapsed() < PATIENCE);
    gate.open();
    assert_eq!(first.answer().text(), "page 1");
    assert_eq!(server.get("/").text(), "page 1", "a response fetched without the cache lock is not stored");
}

#[test]
fn failed_fetch_blocks_no_client() {
    let (server, origin) = Cached::default().start(|call| {
        thread::sleep(Duration::from_millis(100));
        call.hang_up();
    });
    let answers = all_at_once(server.port, 30, &Request::get("/"));
    assert!(
        answers.iter().all(|answer| answer.status == 502),
        "{:?}",
        answers.iter().map(|answer| answer.status).collect::<Vec<_>>()
    );
    assert!(origin.count() <= 30);
    let (server, origin) = Cached::default().start(|call| {
        thread::sleep(Duration::from_millis(100));
        if call.number == 1 {
            call.hang_up();
        } else {
            call.answer("Content-Type: text/plain", "second attempt");
        }
    });
    let answers = all_at_once(server.port, 30, &Request::get("/"));
    assert!(answers.iter().all(|answer| answer.status == 502 || answer.text() == "second attempt"));
    assert!(origin.count() <= 31, "{}", origin.count());
    assert_eq!(server.get("/").text(), "second attempt");
}

#[test]
fn request_that_cannot_be_sent_has_the_same_status_with_and_without_the_cache() {
    let rules = "fastcgi_cache_valid 1h; set $none \"\"; location /cached { fastcgi_pass $none; }
                 location /plain { fastcgi_cache off; fastcgi_pass $none; }";
    let (server, _origin) = with(rules).start(|call| call.answer("", "unused"));
    assert_eq!(server.get("/plain").status, 500);
    for answer in all_at_once(server.port, 10, &Request::get("/cached")) {
        assert_eq!(answer.status, 500, "{}", answer.text());
    }
}

#[test]
fn truncated_page_looks_complete_to_no_client() {
    let (server, _origin) = Cached::default().start(|call| {
        thread::sleep(Duration::from_millis(50));
        call.answer("Content-Type: text/plain", "x".repeat(50_000));
        thread::sleep(Duration::from_millis(100));
        call.hang_up();
    });
    let port = server.port;
    let clients = (0..20).map(|_| thread::spawn(move || Client::connect(port).try_fetch(&Request::get("/"))));
    for client in clients.collect::<Vec<_>>() {
        let answer = client.join().expect("a client");
        let fooled = answer.as_ref().is_ok_and(|answer| answer.status == 200);
        assert!(
            !fooled,
            "a partial page of {} bytes was accepted",
            answer.map_or(0, |answer| answer.body.len())
        );
    }
}

#[test]
fn different_pages_do_not_wait_for_each_other() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, _origin) = Cached::default().start(move |call| {
        if call.uri() == "/slow" {
            held.pass();
        }
        call.answer("Content-Type: text/plain", "page");
    });
    let mut slow = server.connect();
    slow.send(Request::get("/slow").bytes());
    for number in 0..20 {
        assert_eq!(server.get(&format!("/{number}")).text(), "page");
    }
    gate.open();
    assert_eq!(slow.answer().text(), "page");
}

#[test]
fn waiters_in_every_encoding_get_the_same_text() {
    let text = "A line that compresses well.\n".repeat(500);
    let page = text.clone();
    let (server, origin) = with("fastcgi_cache_valid 1h; gzip on; brotli on; brotli_types text/plain;")
        .start(move |call| {
            thread::sleep(Duration::from_millis(200));
            call.answer("Content-Type: text/plain", &page);
        });
    let port = server.port;
    let clients = (0..30).map(|number| {
        let accepted = ["gzip", "br", "identity", "gzip, br", "zstd"][number % 5];
        thread::spawn(move || Client::connect(port).fetch(&Request::get("/").accepting(accepted)))
    });
    for client in clients.collect::<Vec<_>>() {
        assert!(client.join().expect("an answer").text() == text);
    }
    assert_eq!(origin.count(), 1);
}
