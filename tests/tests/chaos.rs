//! Random clients and a random origin, for several seeds: invariants that must hold in every case.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use myriad_tests::{Answer, Cached, Call, Client, Origin, Request, Server, wait_for};

/// Returns a page with its URI and its number at both ends, so that a mix of two pages is detected.
fn page(uri: &str, number: usize, lines: usize) -> String {
    let line = format!("a line of {uri} {number}\n").repeat(lines);
    format!("BEGIN {uri} {number}\n{line}END {uri} {number}\n")
}

/// Returns the number of a page if it is complete and belongs to this URI.
fn number_of(uri: &str, text: &str) -> Option<usize> {
    let (first, rest) = text.split_once('\n')?;
    let number = first.strip_prefix("BEGIN ")?.strip_prefix(uri)?.trim().parse().ok()?;
    let last = rest.lines().last()?;
    let lines = rest.lines().count() - 1;
    (last == format!("END {uri} {number}") && text == page(uri, number, lines)).then_some(number)
}

/// Sends a valid or invalid response, depending on the number of the request.
fn answer(call: &mut Call, seed: u64, is_calm: bool) {
    let mut random = fastrand::Rng::with_seed(seed ^ (call.number as u64 * 7919));
    let (uri, number) = (call.uri().to_owned(), call.number);
    let text = page(&uri, number, random.usize(1..3000));
    let mood = if is_calm { 9 } else { random.u8(..12) };
    let pause = Duration::from_millis(random.u64(..20));
    thread::sleep(pause);
    let cut = random.usize(1..text.len());
    match mood {
        0 => call.hang_up(),
        1 => call.answer("Status: 500 Broken\nContent-Type: text/plain", "broken"),
        2 => call.answer("Status: 429 Slow down\nContent-Type: text/plain", "slow down"),
        3 => {
            call.answer("Content-Type: text/plain", &text[..cut]);
            call.hang_up();
        }
        4 => {
            call.answer(&format!("Content-Type: text/plain\nContent-Length: {}", text.len()), &text[..cut]);
        }
        5 => call.answer("Content-Type: text/plain\nCache-Control: private", format!("private {text}")),
        6 => call.answer(&format!("Content-Type: text/plain\nSet-Cookie: visit={number}"), text),
        7 => call.answer("Content-Type: text/plain\nX-Accel-Expires: 0", text),
        _ => {
            call.answer("Content-Type: text/plain\nX-Accel-Expires: 1", &text[..cut]);
            thread::sleep(pause);
            call.send(&text[cut..]);
        }
    }
}

/// Observations of clients that must occur only once.
#[derive(Default)]
struct Seen {
    private: BTreeSet<usize>,
    cookies: BTreeSet<String>,
    pages: BTreeMap<u16, usize>,
}

fn judge(uri: &str, answer: &Answer, seen: &Mutex<Seen>) {
    let mut seen = seen.lock().expect("the recorded responses");
    *seen.pages.entry(answer.status).or_default() += 1;
    for cookie in answer.all("Set-Cookie") {
        assert!(seen.cookies.insert(cookie.to_owned()), "{cookie} was given to two visitors");
    }
    match answer.status {
        200 => {
            let text = answer.text();
            if let Some(own) = text.strip_prefix("private ") {
                let number = number_of(uri, own)
                    .unwrap_or_else(|| panic!("{uri}: the private page is not of this URL: {own}"));
                assert!(seen.private.insert(number), "{uri}: a private page was shown twice");
            } else {
                assert!(
                    number_of(uri, &text).is_some(),
                    "{uri}: not a complete page of this URL: {} {text}",
                    answer.cache()
                );
            }
        }
        status => assert!(matches!(status, 429 | 500 | 502 | 504), "{uri}: {status}"),
    }
}

/// Simulates one client: it requests pages in random encodings, and sometimes disconnects in the middle.
fn visit(port: u16, seed: u64, seen: &Mutex<Seen>) {
    let mut random = fastrand::Rng::with_seed(seed);
    for turn in 1..=80 {
        if turn % 40 == 0 {
            thread::sleep(Duration::from_millis(1100)); // stored pages are stale now
        }
        let uri = format!("/{}", random.u8(..30));
        let accepted = ["gzip", "br", "identity", "zstd", ""][random.usize(..5)];
        let mut client = Client::connect(port);
        let request = Request::get(&uri).accepting(accepted);
        if random.u8(..4) == 0 {
            client.send(request.bytes());
            thread::sleep(Duration::from_millis(random.u64(..15)));
            continue; // disconnected
        }
        // A response that is truncated at the origin is truncated here as well; it must not appear complete.
        if let Ok(answer) = client.try_fetch(&request) {
            judge(&uri, &answer, seen);
        }
    }
}

fn chaos(seed: u64, workers: usize) {
    let calm = Arc::new(AtomicBool::new(false));
    let is_calm = Arc::clone(&calm);
    let main = format!("worker_processes {workers};");
    let rules = "fastcgi_cache_valid 1s; gzip on; brotli on; brotli_types text/plain; zstd on; zstd_types text/plain; \
                 fastcgi_cache_use_stale error timeout updating http_500 http_429; fastcgi_cache_background_update on;";
    let site = Cached { main: &main, server: rules, ..Cached::default() };
    let (server, origin): (Server, Origin) =
        site.start(move |call| answer(call, seed, is_calm.load(Ordering::SeqCst)));
    let workers = server.workers();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let visitors = (0..16).map(|number| {
        let (seen, port) = (Arc::clone(&seen), server.port);
        thread::spawn(move || visit(port, seed * 1000 + number, &seen))
    });
    for visitor in visitors.collect::<Vec<_>>() {
        visitor.join().expect("a visitor without invalid responses");
    }
    assert_eq!(server.workers(), workers, "no worker has died");
    calm.store(true, Ordering::SeqCst);
    for number in 0..30 {
        let uri = format!("/{number}");
        wait_for("a whole page once the origin is calm", || {
            let answer = server.get(&uri);
            answer.status == 200 && number_of(&uri, &answer.text()).is_some()
        });
    }
    let pages = &seen.lock().expect("the recorded responses").pages;
    assert!(pages.get(&200).is_some_and(|&count| count > 50), "seed {seed}: {pages:?}");
    assert!(origin.count() > 60, "seed {seed}: {} requests at the origin", origin.count());
}

#[test]
fn no_visitor_sees_a_mixed_broken_or_foreign_page() {
    for seed in 1..=3 {
        chaos(seed, 1);
    }
}

#[test]
fn no_visitor_sees_a_mixed_broken_or_foreign_page_with_two_workers() {
    for seed in 4..=6 {
        chaos(seed, 2);
    }
}
