//! Purges of every kind and fetches in progress while the server is killed at random times: no purged page reappears,
//! and no page is corrupt.
//!
//! The origin numbers its pages. A request for a page after the response to a purge must return a page whose fetch
//! began after that purge was sent, with a higher number than any earlier page.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use myriad_tests::{Cached, Call, Client, Request, Server, Signal, kill_rounds, noise, wait_for};

/// Number of pages of the site: `/0` and so on.
const PAGES: u64 = 30;
/// Number of tags; a page has the tag of its number.
const TAGS: u64 = 5;

fn body(number: u64) -> Vec<u8> {
    [&number.to_le_bytes()[..], &noise(number, 100 + number as usize * 7919 % 30_000)].concat()
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Url(u64),
    Tag(u64),
    Prefix(u64),
    Regex(u64),
    Host,
}

impl Kind {
    fn any(rng: &mut fastrand::Rng) -> Self {
        match rng.u8(..20) {
            0..10 => Self::Url(rng.u64(..PAGES)),
            10..14 => Self::Tag(rng.u64(..TAGS)),
            14..16 => Self::Prefix(rng.u64(..10)),
            16..19 => Self::Regex(rng.u64(..10)),
            _ => Self::Host,
        }
    }

    fn covers(self, page: u64) -> bool {
        match self {
            Self::Url(target) => page == target,
            Self::Tag(tag) => page % TAGS == tag,
            Self::Prefix(first) | Self::Regex(first) => page.to_string().starts_with(&first.to_string()),
            Self::Host => true,
        }
    }

    fn request(self, soft: bool) -> Request {
        let purge = |target: &str| Request::new("PURGE", target);
        let request = match self {
            Self::Url(page) => purge(&format!("/{page}")),
            Self::Tag(tag) => purge("/").field("Surrogate-Key", &format!("tag-{tag}")),
            Self::Prefix(first) => purge(&format!("/{first}*")),
            Self::Regex(first) => purge(&format!("/{first}.*")).field("X-Purge-Method", "regex"),
            Self::Host => purge("/purgeall"),
        };
        if soft { request.field("X-Soft-Purge", "1") } else { request }
    }
}

/// State of all threads.
#[derive(Default)]
struct Known {
    /// Highest number of the origin so far.
    newest: AtomicU64,
    /// Answered purges: kind, whether it was soft, and the highest number when it was sent.
    purges: Mutex<Vec<(Kind, bool, u64)>>,
    hits: AtomicUsize,
    stop: AtomicBool,
}

impl Known {
    /// Requests a page, and checks the response against the purges that were answered before. Returns false without a
    /// response.
    fn visit(&self, port: u16, page: u64) -> bool {
        let purges = self.purges.lock().unwrap();
        let newest = |softly: bool| {
            let covering = purges.iter().filter(|(kind, soft, _)| *soft == softly && kind.covers(page));
            covering.map(|(.., newest)| *newest).max().unwrap_or(0)
        };
        let (hard, soft) = (newest(false), newest(true));
        drop(purges);
        let target = format!("/{page}");
        let Ok(answer) = catch_unwind(|| Client::connect(port).fetch(&Request::get(&target))) else {
            return false;
        };
        if answer.status != 200 {
            // Truncated by the kill.
            return false;
        }
        let content = answer.content();
        let Some((number, _)) = content.split_first_chunk::<8>() else { panic!("a page cut short") };
        let number = u64::from_le_bytes(*number);
        assert!(content == body(number), "page {page}: unexpected bytes, {}", answer.cache());
        let cache = answer.cache();
        assert!(number > hard, "page {page} of fetch {number} though {hard} was purged, {cache}");
        // A page after a soft purge may be served while it is refreshed.
        assert!(
            number > soft || cache != "HIT",
            "page {page} of fetch {number} is fresh though {soft} was purged"
        );
        self.hits.fetch_add(usize::from(cache == "HIT"), SeqCst);
        true
    }

    fn purge(&self, port: u16, rng: &mut fastrand::Rng) -> bool {
        let (kind, soft) = (Kind::any(rng), rng.u8(..3) == 0);
        let newest = self.newest.load(SeqCst);
        let Ok(answer) = catch_unwind(|| Client::connect(port).fetch(&kind.request(soft))) else {
            return false;
        };
        match answer.status {
            200 | 404 | 412 => self.purges.lock().unwrap().push((kind, soft, newest)),
            status => panic!("{kind:?}: {status}"),
        }
        true
    }
}

/// Runs threads that repeat an action until the server is killed.
fn until_struck(
    known: &Arc<Known>,
    seed: u64,
    mut each: impl FnMut(&Known, &mut fastrand::Rng) -> bool + Send + 'static,
) -> JoinHandle<()> {
    let known = Arc::clone(known);
    thread::spawn(move || {
        let mut rng = fastrand::Rng::with_seed(seed);
        while !known.stop.load(SeqCst) {
            if !each(&known, &mut rng) {
                return;
            }
        }
    })
}

fn round(server: &mut Server, known: &Arc<Known>, round: u64) {
    let port = server.port;
    known.stop.store(false, SeqCst);
    let mut threads: Vec<_> = (0..3)
        .map(|visitor| {
            until_struck(known, round * 8 + visitor, move |known, rng| known.visit(port, rng.u64(..PAGES)))
        })
        .collect();
    threads.push(until_struck(known, round * 8 + 5, move |known, rng| known.purge(port, rng)));
    let wanted = known.purges.lock().unwrap().len() + fastrand::Rng::with_seed(round).usize(2..25);
    wait_for("purges", || known.purges.lock().unwrap().len() >= wanted);
    server.restart_after(Signal::KILL, || {
        known.stop.store(true, SeqCst);
        for thread in threads {
            thread.join().expect("a visitor whose responses are valid");
        }
    });
    for page in 0..PAGES {
        assert!(known.visit(server.port, page), "the server serves again");
    }
}

#[test]
fn killed_at_any_moment_it_brings_nothing_back_that_was_purged() {
    let known = Arc::<Known>::default();
    let site = Cached {
        zone: "levels=1:2",
        server: "fastcgi_cache_valid 200 1h; fastcgi_cache_purge on;",
        ..Cached::default()
    };
    let newest = Arc::clone(&known);
    let (mut server, _origin) = site.start(move |call: &mut Call| {
        let number = call.number as u64;
        newest.newest.fetch_max(number, SeqCst);
        let tag = call.uri().trim_start_matches('/').parse::<u64>().map_or(0, |page| page % TAGS);
        let head = format!("Content-Type: application/octet-stream\nSurrogate-Key: all tag-{tag}");
        call.answer(&head, body(number));
    });
    for number in 0..kill_rounds() {
        round(&mut server, &known, number as u64);
    }
    assert!(known.hits.load(SeqCst) > kill_rounds() * 5, "too few pages were served from the cache");
    assert!(known.purges.lock().unwrap().len() >= kill_rounds() * 2);
}
