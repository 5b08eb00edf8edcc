//! Measures purges in a zone of a million objects: time until each is complete, compared with the duration of its
//! `fdatasync`, and the cost of the next hits.
//!
//!     cargo run --release -p myriad-store --example purge_cost [FOLDER [OBJECTS]]
//!
//! The folder (default: `purge-cost` in the temporary folder) will contain no pages, and is created and removed.

use std::fs::{self, File};
use std::future::Future;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use myriad_store::{
    ALTERNATIVES, Admission, ClockReference, Completed, Completion, DiskLimits, DiskOptions, DiskPool,
    KeyRef, LoggedPurge, Metadata, Persist, PurgeKind, PurgePredicate, PurgeScope, Zone, ZoneLimits,
};

/// Number of look-ups per round; the median of the rounds is printed.
const GETS: usize = 1_000_000;
const ROUNDS: usize = 9;
const BODY: usize = 512;
/// Number of pages with the same tag.
const TAGGED: usize = 1000;

/// Metadata of a page: the target for which it was fetched, with a label for the target and a label for a tag.
struct PurgePage {
    target: Box<[u8]>,
    labels: [u64; 2],
}

impl Metadata for PurgePage {
    type EncodingMeta = ();
    type ReplacementState = ();
    type StoredForm = Self;
    type MetaView<'a> = &'a Self;

    fn view(&self) -> &Self {
        self
    }

    fn into_stored(self, _texts: &mut Vec<u8>) -> Self {
        self
    }

    fn view_stored<'a>(kept: &'a Self, _texts: &'a [u8]) -> &'a Self {
        kept
    }

    fn weight(page: &Self) -> usize {
        page.target.len()
    }

    fn labels(page: &Self, each: &mut dyn FnMut(u64)) {
        page.labels.into_iter().for_each(each);
    }

    /// Parses a rule, which covers all targets that start with it.
    fn covers(rule: &[u8]) -> Option<PurgePredicate<Self>> {
        let prefix: Box<[u8]> = rule.into();
        Some(Box::new(move |_, page| page.target.starts_with(&prefix)))
    }
}

impl Persist for PurgePage {
    const VERSION: u16 = 1;

    fn encode(_: &Self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Option<Self> {
        None
    }

    fn encode_alternative((): &(), _: &mut Vec<u8>) {}

    fn decode_alternative(_: &[u8]) -> Option<()> {
        None
    }
}

fn target(n: usize) -> Vec<u8> {
    format!("/2026/11/a-post-about-{n:08}/").into_bytes()
}

fn key(n: usize) -> Vec<u8> {
    [b"httpGETwww.example.org".to_vec(), target(n)].concat()
}

fn plain(_: &[u8], _: &mut Vec<u8>) {}

fn open(folder: &Path) -> (Zone<PurgePage>, DiskPool) {
    let zone = Zone::new("pages", ZoneLimits { memory_bytes: 8 << 30, ..ZoneLimits::default() });
    let pool = DiskPool::start(3).expect("threads");
    let options = DiskOptions {
        path: folder.to_owned(),
        levels: vec![1, 2],
        // No page fits on the disk, so that the purge is measured and not the disk.
        limits: DiskLimits { max_bytes: 0, ..DiskLimits::default() },
        clock: Arc::new(|| 1_000_000),
        reference: Arc::new(ClockReference::default),
        report: Arc::new(|_| {}),
    };
    zone.open_disk(options, &pool);
    (zone, pool)
}

fn fill(zone: &Zone<PurgePage>, objects: usize) {
    let body = [7_u8; BODY];
    for n in 0..objects {
        let page =
            || PurgePage { target: target(n).into(), labels: [n as u64, u64::MAX - (n / TAGGED) as u64] };
        let admission = Admission { head: Arc::new(page()), selection: None, length: None };
        let mut writer = zone.fetch_unshared(KeyRef::new(&key(n)), 1).admit(admission);
        writer.push(bytes::Bytes::copy_from_slice(&body));
        let alternatives = [const { None }; ALTERNATIVES];
        let done = writer.complete(Completion { meta: page(), now: 1, fresh_until: 1000, alternatives });
        assert!(matches!(done, Completed::Stored(_)));
    }
}

fn wait(purging: impl Future<Output = Result<LoggedPurge, myriad_store::PurgeError>>) -> LoggedPurge {
    let mut purging = pin!(purging);
    loop {
        match purging.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(end) => return end.expect("a purge"),
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the duration of a write as short as that of a purge, with its `fdatasync`, in milliseconds.
fn sync_cost(folder: &Path) -> f64 {
    let path = folder.join("fdatasync");
    fs::write(&path, vec![0; 64 << 10]).expect("a file");
    let mut file = File::options().write(true).open(&path).expect("a file");
    file.sync_all().expect("fsync");
    let once = |file: &mut File| {
        let begun = Instant::now();
        file.write_all(&[1; 100]).expect("a write");
        file.sync_data().expect("fdatasync");
        begun.elapsed().as_secs_f64() * 1e3
    };
    median((0..51).map(|_| once(&mut file)).collect())
}

/// Returns the median time until a purge is complete, in milliseconds.
fn answered(zone: &Zone<PurgePage>, mut covered: impl FnMut(usize) -> (Vec<u8>, Vec<u64>)) -> f64 {
    let once = |n: usize| {
        let (rule, labels) = covered(n);
        let covered = if labels.is_empty() {
            PurgeScope::Rule { name: "a rule", rule: &rule }
        } else {
            PurgeScope::Exact { keys: &[], addresses: &[], labels: &labels }
        };
        let begun = Instant::now();
        wait(zone.purge(covered, PurgeKind::Hard));
        begun.elapsed().as_secs_f64() * 1e3
    };
    median((0..51).map(once).collect())
}

/// Returns the processor time that this thread has used, in nanoseconds.
fn processor_time() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Returns the processor time of a hit in nanoseconds, over all objects in random order.
fn hits(zone: &Zone<PurgePage>, keys: &[KeyRef<'_>]) -> f64 {
    let begun = processor_time();
    for key in keys.iter().cycle().take(GETS) {
        black_box(zone.get(*key, plain, 2));
    }
    (processor_time() - begun) / GETS as f64
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().map_or_else(|| std::env::temp_dir().join("purge-cost"), PathBuf::from);
    let objects = arguments.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(1_000_000);
    let (zone, pool) = open(&folder);
    fill(&zone, objects);
    pool.wait_until_idle(Duration::from_mins(1));
    let keys: Vec<Vec<u8>> = (0..objects).map(key).collect();
    let mut hashed: Vec<KeyRef<'_>> = keys.iter().map(|key| KeyRef::new(key)).collect();
    fastrand::seed(1);
    fastrand::shuffle(&mut hashed);
    println!("objects                          {}", zone.stats().objects);

    let sync = sync_cost(&folder);
    println!("ms of an fdatasync               {sync:.3}");
    let rule = answered(&zone, |n| (format!("/1999/{n}").into_bytes(), Vec::new()));
    println!("ms to answer a rule              {rule:.3} ({:.3} beside the fdatasync)", rule - sync);
    let one = answered(&zone, |n| (Vec::new(), vec![(objects - 1 - n) as u64]));
    println!("ms to answer a URL               {one:.3} ({:.3} beside the fdatasync)", one - sync);
    let tag = answered(&zone, |n| (Vec::new(), vec![u64::MAX - n as u64]));
    println!("ms to answer a tag of {TAGGED} pages {tag:.3} ({:.3} beside the fdatasync)", tag - sync);

    let settle = || while zone.maintain_purges(1 << 20).is_empty() && zone.purges_by_rule().len() > 1 {};
    settle();
    let before = median((0..ROUNDS).map(|_| hits(&zone, &hashed)).collect());
    println!("ns per hit, before               {before:.1}");
    // Each hit of a round is the first on its object since the purge.
    let first = (0..ROUNDS).map(|n| {
        wait(zone.purge(
            PurgeScope::Rule { name: "a rule", rule: format!("/1998/{n}").as_bytes() },
            PurgeKind::Hard,
        ));
        hits(&zone, &hashed)
    });
    let first = median(first.collect());
    println!("ns per hit, each the first since {first:.1} ({:.1} more)", first - before);
    let after = median((0..ROUNDS).map(|_| hits(&zone, &hashed)).collect());
    println!("ns per hit, the next             {after:.1} ({:.2} times)", after / before);

    wait(
        zone.purge(
            PurgeScope::Rule { name: "a rule", rule: b"/2026/11/a-post-about-000001" },
            PurgeKind::Hard,
        ),
    );
    let gone = zone.get(KeyRef::new(&key(123)), plain, 2).is_none();
    println!("what a rule covers is gone at once: {gone}");
    let begun = Instant::now();
    while zone.maintain_purges(1 << 20).is_empty() {}
    println!("ms to ask all objects            {:.0}", begun.elapsed().as_secs_f64() * 1e3);
    drop((zone, pool));
    fs::remove_dir_all(&folder).expect("the folder goes");
}
