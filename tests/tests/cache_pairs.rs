//! Two balancers in front of two pairs of a cache and an Apache with mod_php: readers observe no error if any of them
//! is killed, restarted or suspended.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use myriad_tests::{Apache, Client, Place, Request, Server, Signal, signal, wait_patiently_for};

/// A suspended peer costs each reader a timeout, on a loaded machine.
const LONGEST: Duration = Duration::from_mins(1);
/// Page of a pair with its name and age.
const PAGE: &str = "<?php header('Cache-Control: max-age=' . ($_GET['age'] ?? 0)); echo 'made by @NAME@';";

/// Cache with its Apache.
struct Pair {
    cache: Server,
    apache: Apache,
}

impl Pair {
    fn start(name: &str) -> Self {
        let place = Place::new();
        place.write("html/index.php", PAGE.replace("@NAME@", name));
        let apache = Apache::start(place);
        let mut place = Place::new();
        place.set("ORIGIN", &format!("127.0.0.1:{}", apache.port));
        let conf = "proxy_cache_path @DIR@/cache keys_zone=a:1m;
            upstream apache { server @ORIGIN@; keepalive 8; }
            server {
                listen 127.0.0.1:@PORT@; keepalive_requests 1000000;
                location / { proxy_cache a; proxy_cache_lock on; proxy_read_timeout 1s; proxy_pass http://apache; }
            }";
        let conf = place.fill(conf);
        Self { cache: Server::start(place, &conf), apache }
    }

    fn stall_cache(&self, sent: Signal) {
        for worker in self.cache.workers() {
            signal(worker, sent);
        }
    }
}

fn balancer(pairs: &[Pair; 2]) -> Server {
    let mut place = Place::new();
    for (name, pair) in ["ONE", "TWO"].into_iter().zip(pairs) {
        place.set(name, &format!("127.0.0.1:{}", pair.cache.port));
    }
    let conf = "upstream caches {
            zone caches 64k; keepalive 8;
            server @ONE@ max_fails=1 fail_timeout=2s; server @TWO@ max_fails=1 fail_timeout=2s;
        }
        server {
            listen 127.0.0.1:@PORT@; keepalive_requests 1000000;
            location / {
                proxy_connect_timeout 1s; proxy_read_timeout 2s;
                proxy_next_upstream error timeout invalid_header http_502 http_503 http_504;
                proxy_pass http://caches;
            }
        }";
    let conf = place.fill(conf);
    Server::start(place, &conf)
}

/// Readers that send requests without a pause, each on one connection.
struct Readers {
    over: Arc<AtomicBool>,
    /// Number of responses of each reader.
    served: Vec<Arc<AtomicUsize>>,
    threads: Vec<JoinHandle<Vec<String>>>,
}

impl Readers {
    fn start(fronts: &[Server; 2]) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let served: Vec<_> = (0..6).map(|_| Arc::new(AtomicUsize::new(0))).collect();
        let targets = ["/", "/?age=1", "/?age=3600"];
        let read = |(number, served): (usize, &Arc<AtomicUsize>)| {
            let (over, served, port) = (Arc::clone(&over), Arc::clone(served), fronts[number % 2].port);
            thread::spawn(move || read(port, targets[number / 2], &over, &served))
        };
        let threads = served.iter().enumerate().map(read).collect();
        Self { over, served, threads }
    }

    /// Waits until each reader has received `number` further responses.
    fn more(&self, number: usize) {
        let count = || self.served.iter().map(|served| served.load(Ordering::SeqCst)).collect::<Vec<_>>();
        let before = count();
        wait_patiently_for("answers for each reader", LONGEST, || {
            count().iter().zip(&before).all(|(now, before)| *now >= before + number)
        });
    }

    /// Stops the readers, and returns all their errors.
    fn end(self) -> Vec<String> {
        self.over.store(true, Ordering::SeqCst);
        self.threads.into_iter().flat_map(|thread| thread.join().expect("a reader")).collect()
    }
}

fn read(port: u16, target: &str, over: &AtomicBool, served: &AtomicUsize) -> Vec<String> {
    let (mut client, mut wrong) = (Client::connect(port), Vec::new());
    while !over.load(Ordering::SeqCst) {
        match client.try_fetch(&Request::get(target)) {
            Ok(answer) if answer.status == 200 && answer.text().starts_with("made by ") => {
                served.fetch_add(1, Ordering::SeqCst);
            }
            Ok(answer) => wrong.push(format!("{target}: {}: {}", answer.status_line, answer.text())),
            Err(error) => {
                wrong.push(format!("{target}: {error}"));
                client = Client::connect(port);
            }
        }
    }
    wrong
}

#[test]
fn no_reader_notices_what_is_killed_restarted_or_stalled() {
    let mut pairs = [Pair::start("one"), Pair::start("two")];
    let fronts = [balancer(&pairs), balancer(&pairs)];
    let readers = Readers::start(&fronts);
    readers.more(20);
    for number in [0, 1] {
        let pair = &mut pairs[number];
        pair.apache.kill();
        readers.more(20);
        pair.apache.restart();
        readers.more(20);
        pair.apache.stall();
        readers.more(20);
        pair.apache.go_on();
        readers.more(20);
        pair.stall_cache(Signal::STOP);
        readers.more(20);
        pair.stall_cache(Signal::CONT);
        readers.more(20);
        pair.cache.restart(Signal::KILL);
        readers.more(20);
        pair.cache.restart(Signal::QUIT);
        readers.more(20);
        // The other pair is disturbed only after both are in use again.
        let port = format!("127.0.0.1:{}", pair.cache.port);
        let peer_of = |front: &Server| front.get("/").text();
        let name = if number == 0 { "made by one" } else { "made by two" };
        for front in &fronts {
            wait_patiently_for(&format!("the return of {port}"), LONGEST, || peer_of(front) == name);
        }
    }
    let wrong = readers.end();
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), &wrong[..wrong.len().min(10)]);
}
