//! Measures the cost of a hit among ten and among a million objects, and the memory of an object besides its data.
//!
//!     cargo run --release -p myriad-store --example hit_cost
//!
//! The resident size is read from `/proc/self/statm`, so it includes memory that the allocator adds.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use myriad_store::{ALTERNATIVES, Admission, Completed, Completion, KeyRef, Metadata, Zone, ZoneLimits};

/// Number of look-ups per round.
const GETS: usize = 2_000_000;
const ROUNDS: usize = 7;
const BODY: usize = 512;

struct HitPage;

impl Metadata for HitPage {
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

fn key(n: usize) -> Vec<u8> {
    format!("httpGETwww.example.org/2026/11/a-post-about-{n:08}/").into_bytes()
}

fn plain(_: &[u8], _: &mut Vec<u8>) {}

fn fill(objects: usize) -> Zone<HitPage> {
    let zone = Zone::new("pages", ZoneLimits { memory_bytes: 4 << 30, ..ZoneLimits::default() });
    let (head, body) = (Arc::new(HitPage), [7_u8; BODY]);
    for n in 0..objects {
        let admission = Admission { head: Arc::clone(&head), selection: None, length: None };
        let mut writer = zone.fetch_unshared(KeyRef::new(&key(n)), 1).admit(admission);
        writer.push(bytes::Bytes::copy_from_slice(&body));
        let alternatives = [const { None }; ALTERNATIVES];
        let done = writer.complete(Completion { meta: HitPage, now: 1, fresh_until: 1000, alternatives });
        assert!(matches!(done, Completed::Stored(_)));
    }
    zone
}

/// Returns the median duration of a look-up in nanoseconds, with the hashing of the key.
fn cost(zone: &Zone<HitPage>, objects: usize) -> f64 {
    let keys: Vec<Vec<u8>> = (0..objects).map(key).collect();
    let mut hashed: Vec<KeyRef<'_>> = keys.iter().map(|key| KeyRef::new(key)).collect();
    fastrand::seed(1);
    fastrand::shuffle(&mut hashed);
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round(zone, &hashed)).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn round(zone: &Zone<HitPage>, keys: &[KeyRef<'_>]) -> f64 {
    let begun = Instant::now();
    let mut found = 0;
    for key in keys.iter().cycle().take(GETS) {
        found += usize::from(black_box(zone.get(*key, plain, 2)).is_some());
    }
    assert_eq!(found, GETS);
    begun.elapsed().as_nanos() as f64 / GETS as f64
}

/// Returns the resident memory of this process in bytes; 0 without `/proc`.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}

fn main() {
    let ten = fill(10);
    println!("ns per get, 10 objects          {:.1}", cost(&ten, 10));
    let hot = key(3);
    println!("ns per get, one hot object      {:.1}", round(&ten, &[KeyRef::new(&hot)]));
    let objects = 1_000_000;
    let before = resident();
    let million = fill(objects);
    let data = (BODY + key(0).len()) * objects;
    let each = |bytes: usize| (bytes.saturating_sub(data)) as f64 / objects as f64;
    println!("overhead per object, measured   {:.0} bytes", each(resident() - before));
    println!("overhead per object, accounted  {:.0} bytes", each(million.stats().bytes));
    println!("ns per get, 1,000,000 objects   {:.1}", cost(&million, objects));
    println!("ns per get, 10 of 1,000,000     {:.1}", cost(&million, 10));
}
