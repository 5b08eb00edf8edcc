//! Measures a zone with a disk tier and one million small objects: memory per object besides its data, times until a
//! restart serves its first page and has found all pages, and the cost of a hit.
//!
//!     cargo run --release -p myriad-store --example million_files [FOLDER [OBJECTS]]
//!
//! The folder (default: `million-files` in the temporary folder) is created and removed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use myriad_store::{
    ALTERNATIVES, Admission, ClockReference, Completed, Completion, DiskLimits, DiskOptions, DiskPool,
    KeyRef, Metadata, Persist, Zone, ZoneLimits,
};

const BODY: usize = 512;

struct FilePage;

impl Metadata for FilePage {
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

    fn weight(_: &Self) -> usize {
        0
    }
}

impl Persist for FilePage {
    const VERSION: u16 = 1;

    fn encode(_: &Self, _: &mut Vec<u8>) {}

    fn decode(_: &[u8]) -> Option<Self> {
        Some(Self)
    }

    fn encode_alternative((): &(), _: &mut Vec<u8>) {}

    fn decode_alternative(_: &[u8]) -> Option<()> {
        Some(())
    }
}

fn key(n: usize) -> Vec<u8> {
    format!("httpGETwww.example.org/2026/11/a-post-about-{n:08}/").into_bytes()
}

fn plain(_: &[u8], _: &mut Vec<u8>) {}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

fn open(folder: &Path, memory_bytes: usize) -> (Zone<FilePage>, DiskPool) {
    let zone =
        Zone::new("pages", ZoneLimits { memory_bytes, inactive_ms: u64::MAX, ..ZoneLimits::default() });
    let pool = DiskPool::start(3).expect("threads");
    let options = DiskOptions {
        path: folder.to_owned(),
        levels: vec![1, 2],
        limits: DiskLimits::default(),
        clock: Arc::new(now),
        reference: Arc::new(ClockReference::default),
        report: Arc::new(|event| println!("  ({event:?})")),
    };
    zone.open_disk(options, &pool);
    (zone, pool)
}

fn fill(zone: &Zone<FilePage>, pool: &DiskPool, objects: usize) {
    let head = Arc::new(FilePage);
    for n in 0..objects {
        let admission = Admission { head: Arc::clone(&head), selection: None, length: None };
        let mut writer = zone.fetch_unshared(KeyRef::new(&key(n)), now()).admit(admission);
        writer.push(bytes::Bytes::from(vec![7_u8; BODY]));
        let alternatives = [const { None }; ALTERNATIVES];
        let done =
            writer.complete(Completion { meta: FilePage, now: now(), fresh_until: u64::MAX, alternatives });
        assert!(matches!(done, Completed::Stored(_)));
        if n % 2000 == 0 {
            pool.wait_until_idle(Duration::from_mins(1));
        }
    }
    pool.wait_until_idle(Duration::from_mins(1));
}

/// Looks a page up on disk, and waits for the result.
fn load(zone: &Zone<FilePage>, key: &[u8]) {
    let key = KeyRef::new(key);
    let sought = zone.seek(key, plain).expect("it may be on disk");
    let mut reader = zone.load(key, sought, now()).expect("a queue with room");
    while reader.poll_end(&mut Context::from_waker(Waker::noop()), plain).is_pending() {
        std::thread::yield_now();
    }
    assert!(zone.get(key, plain, now()).is_some());
}

fn wait_for_recovery(zone: &Zone<FilePage>) {
    while !zone.disk_stats().expect("a disk tier").recovered {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the mean duration of a look-up in memory among `hot` stored keys, in nanoseconds.
fn cost(zone: &Zone<FilePage>, hot: usize) -> f64 {
    const GETS: usize = 2_000_000;
    let keys: Vec<Vec<u8>> = (0..hot).map(key).collect();
    let hashed: Vec<KeyRef<'_>> = keys.iter().map(|key| KeyRef::new(key)).collect();
    let begun = Instant::now();
    for key in hashed.iter().cycle().take(GETS) {
        assert!(std::hint::black_box(zone.get(*key, plain, 2)).is_some());
    }
    begun.elapsed().as_nanos() as f64 / GETS as f64
}

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let folder = arguments.next().map_or_else(|| std::env::temp_dir().join("million-files"), PathBuf::from);
    let objects = arguments.next().and_then(|text| text.to_str()?.parse().ok()).unwrap_or(1_000_000);
    let small = folder.join("ten");
    let (ten, pool) = open(&small, 64 << 20);
    fill(&ten, &pool, 10);
    println!("ns per get among ten            {:.1}", cost(&ten, 10));
    drop((ten, pool));

    let many = folder.join("many");
    let begun = Instant::now();
    {
        let (zone, pool) = open(&many, 32 << 20);
        wait_for_recovery(&zone);
        fill(&zone, &pool, objects);
        println!("stored                          {:.1} s", begun.elapsed().as_secs_f64());
        println!("  {:?}", zone.disk_stats());
        zone.close_disk(Duration::from_mins(1));
    }
    for snapshot in [true, false] {
        if !snapshot {
            std::fs::remove_file(many.join(".catalogue")).expect("a snapshot");
        }
        let before = resident();
        let begun = Instant::now();
        let (zone, _pool) = open(&many, 8 << 30);
        load(&zone, &key(objects / 2));
        println!(
            "first page after a restart      {:.1} ms (snapshot: {snapshot})",
            begun.elapsed().as_secs_f64() * 1e3
        );
        wait_for_recovery(&zone);
        println!("all known after                 {:.1} s", begun.elapsed().as_secs_f64());
        let each = resident().saturating_sub(before) as f64 / objects as f64;
        println!("memory of a known file          {each:.0} bytes");
        (0..10).for_each(|n| load(&zone, &key(n)));
        println!("ns per get, ten of so many      {:.1}", cost(&zone, 10));
        if snapshot {
            continue;
        }
        (0..objects)
            .filter(|n| zone.get(KeyRef::new(&key(*n)), plain, 2).is_none())
            .for_each(|n| load(&zone, &key(n)));
        let data = (BODY + key(0).len()) * objects;
        let each = (resident() - before).saturating_sub(data) as f64 / objects as f64;
        println!("memory beside the data, in both {each:.0} bytes");
    }
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}
