//! Tests with many threads on one zone. The assertions hold for every interleaving; what is covered varies from run to
//! run.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

/// Waker that unparks its thread. [`wait`] panics after ten seconds, because a wake-up was
/// lost then.
struct Parker(thread::Thread, AtomicBool);

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.1.store(true, SeqCst);
        self.0.unpark();
    }
}

fn wait<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> T {
    let parker = Arc::new(Parker(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&parker));
    loop {
        if let Poll::Ready(value) = poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        let begun = Instant::now();
        while !parker.1.swap(false, SeqCst) {
            assert!(begun.elapsed() < Duration::from_secs(10), "stranded");
            thread::park_timeout(Duration::from_secs(1));
        }
    }
}

fn read(reader: &mut FlightReader<TestPage>) -> Result<Vec<u8>, Abort> {
    let mut bytes = Vec::new();
    while let Some(piece) = wait(|cx| reader.poll_chunk(cx)) {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

/// Returns the length of the body of the writer with number `id`.
fn len(id: u64) -> usize {
    8 + (id as usize * 37) % 3000
}

fn check(id: u64, bytes: &[u8]) {
    assert!(bytes == content(id, len(id)), "bytes of another writer");
}

#[test]
fn two_hundred_waiters_on_other_threads_get_the_bytes_of_one_fetch() {
    let zone = zone(1 << 20);
    let writer = lead(claim(&zone, b"/", 10));
    let (joined, all_joined) = channel();
    thread::scope(|scope| {
        for _ in 0..200 {
            let mut reader = waiter(claim(&zone, b"/", 10));
            let joined = joined.clone();
            scope.spawn(move || {
                joined.send(()).unwrap();
                assert!(matches!(
                    wait(|cx| reader.poll_head(cx, plain)),
                    FlightHead::Head(_) | FlightHead::Object(_)
                ));
                assert_eq!(read(&mut reader).unwrap(), content(5, 9000));
            });
        }
        all_joined.iter().take(200).for_each(drop);
        let mut body = writer.admit(admission(5, None));
        for piece in content(5, 9000).chunks(500) {
            body.push(Bytes::copy_from_slice(piece));
        }
        body.complete(completion(5, 11, 100));
    });
}

/// Shared state of the worker threads, with the flag that stops them.
struct Work {
    /// Number of the next writer.
    id: AtomicUsize,
    steps: AtomicUsize,
    /// Number of fetches of each key that have had a leader.
    led: [AtomicUsize; 8],
    over: AtomicBool,
}

impl Work {
    fn new() -> Self {
        let [id, steps] = [1, 0].map(AtomicUsize::new);
        Self { id, steps, led: Default::default(), over: AtomicBool::new(false) }
    }

    /// Returns true if there were more than 100 steps, a stored object, a hit, and a leader for each key.
    fn has_met_all(&self, zone: &Zone<TestPage>) -> bool {
        let (stats, steps) = (zone.stats(), self.steps.load(SeqCst));
        steps > 100 && stats.stored > 0 && stats.hits > 0 && self.led.iter().all(|led| led.load(SeqCst) > 0)
    }
}

/// Runs random operations on the zone, on one of the worker threads.
fn work(zone: &Zone<TestPage>, work: &Work, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed);
    while !work.over.load(SeqCst) {
        work.steps.fetch_add(1, SeqCst);
        let n = rng.usize(..8);
        let key = format!("/{n}").into_bytes();
        match claim(zone, &key, 10) {
            Claim::Hit(object) => {
                check(object.meta().id, &object.body().segments().concat());
                match rng.u8(..20) {
                    0 => _ = zone.remove(KeyRef::new(&key)),
                    1 => _ = zone.clear(),
                    2 => object.set_fresh_until(0),
                    3 => drop(zone.begin_refresh(&object, 10, 1000, None)),
                    4 => {
                        _ = zone.attach(
                            &object,
                            0,
                            AlternativeEncoding { bytes: vec![0; 500].into(), meta: 1 },
                        );
                    }
                    _ => {}
                }
            }
            Claim::Wait(mut reader) => {
                if rng.bool() {
                    continue;
                }
                match wait(|cx| reader.poll_head(cx, plain)) {
                    FlightHead::Head(page) => {
                        if let Ok(bytes) = read(&mut reader) {
                            check(page.id, &bytes);
                        }
                    }
                    FlightHead::Object(object) => check(object.meta().id, &object.body().segments().concat()),
                    _ => {}
                }
            }
            Claim::Lead(writer) => {
                work.led[n].fetch_add(1, SeqCst);
                write(writer, work.id.fetch_add(1, SeqCst) as u64, &mut rng);
            }
            Claim::Pass => {}
        }
        assert!(zone.stats().bytes <= zone.limits().memory_bytes);
    }
}

fn write(writer: FlightWriter<TestPage>, id: u64, rng: &mut fastrand::Rng) {
    match rng.u8(..8) {
        0 => drop(writer),
        1 => writer.fail(FetchFailure(502)),
        2 => writer.uncacheable(10, 0),
        _ => {
            let mut body = writer.admit(admission(id, None));
            for piece in content(id, len(id)).chunks(700) {
                body.push(Bytes::copy_from_slice(piece));
                thread::yield_now();
            }
            if rng.u8(..8) > 0 {
                body.complete(completion(id, 10, 1000));
            }
        }
    }
}

#[test]
fn workers_in_any_interleaving_keep_bodies_whole_and_waiters_awake() {
    // The memory suffices only for some of the eight pages, so that evictions occur.
    let zone = zone(12 << 10);
    let done = Work::new();
    thread::scope(|scope| {
        let (zone, done) = (&zone, &done);
        for seed in 0..4 {
            scope.spawn(move || work(zone, done, seed));
        }
        let begun = Instant::now();
        while !done.has_met_all(zone) && begun.elapsed() < Duration::from_mins(1) {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(200));
        done.over.store(true, SeqCst);
    });
    assert!(done.has_met_all(&zone), "{} steps, {:?}", done.steps.into_inner(), zone.stats());
    zone.clear();
    assert_eq!((zone.stats().flights, zone.stats().objects), (0, 0));
    assert_eq!(zone.stats().bytes, super::zone(12 << 10).stats().bytes, "every byte was given back");
}

#[test]
fn racing_claims_have_one_leader() {
    for round in 0..300_u64 {
        let zone = zone(1 << 20);
        let start = std::sync::Barrier::new(4);
        let leaders: usize = thread::scope(|scope| {
            let race = || {
                start.wait();
                let claimed = claim(&zone, b"/", round);
                let led = usize::from(matches!(claimed, Claim::Lead(_)));
                // No thread drops its claim before all threads have claimed.
                start.wait();
                led
            };
            let racers: Vec<_> = (0..4).map(|_| scope.spawn(race)).collect();
            racers.into_iter().map(|r| r.join().unwrap()).sum()
        });
        assert_eq!(leaders, 1);
    }
}
