//! Hit rates of eviction policies on two seeded traces, the cache a tenth of the set.
//!
//!     cargo run --release -p myriad-store --example eviction
//!
//! *Zipf with scans*: popularity by rank to the power of -0.9; now and then a crawler walks over pages that nobody else
//! asks for. *Shifting*: the same without crawlers, but every so often a part of the popular pages loses its place to
//! others. SIEVE is the zone itself, with objects of one size; LRU, S3-FIFO and keeping the most popular pages for good
//! are written out here in their simplest form.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use myriad_store::{ALTERNATIVES, Admission, Completion, KeyRef, Metadata, Zone, ZoneLimits};

const SET: usize = 50_000;
const REQUESTS: usize = 1_000_000;

fn zipf(rng: &mut fastrand::Rng, sums: &[f64]) -> usize {
    let at = rng.f64() * sums[sums.len() - 1];
    sums.partition_point(|sum| *sum < at).min(sums.len() - 1)
}

fn sums(power: f64) -> Vec<f64> {
    let mut sum = 0.0;
    (1..=SET)
        .map(|rank| {
            sum += (rank as f64).powf(-power);
            sum
        })
        .collect()
}

fn with_scans() -> Vec<u32> {
    let (mut rng, sums) = (fastrand::Rng::with_seed(1), sums(0.9));
    let mut trace = Vec::with_capacity(REQUESTS);
    let mut unseen = SET as u32;
    while trace.len() < REQUESTS {
        if rng.usize(..20_000) == 0 {
            // A crawler: a tenth of the set, each page once.
            trace.extend(unseen..unseen + SET as u32 / 10);
            unseen += SET as u32 / 10;
        }
        trace.push(zipf(&mut rng, &sums) as u32);
    }
    trace
}

fn shifting() -> Vec<u32> {
    let (mut rng, sums) = (fastrand::Rng::with_seed(2), sums(0.9));
    let mut pages: Vec<u32> = (0..SET as u32).collect();
    (0..REQUESTS)
        .map(|n| {
            if n % 50_000 == 0 {
                for rank in 0..SET / 10 {
                    if rng.u8(..5) == 0 {
                        pages.swap(rank, rng.usize(..SET));
                    }
                }
            }
            pages[zipf(&mut rng, &sums)]
        })
        .collect()
}

struct Page;

impl Metadata for Page {
    type Alternative = ();

    fn weight(&self) -> usize {
        0
    }
}

fn plain(_: &[u8], _: &mut Vec<u8>) {}

/// The zone, given as much memory as holds `room` objects.
fn sieve(trace: &[u32], room: usize) -> f64 {
    let store = |zone: &Zone<Page>, page: u32| {
        let key = page.to_le_bytes();
        let head = Arc::new(Page);
        let writer =
            zone.fetch_alone(KeyRef::new(&key), 1).admit(Admission { head, selection: None, length: None });
        let alternatives = [const { None }; ALTERNATIVES];
        writer.complete(Completion { meta: Page, now: 1, fresh_until: u64::MAX, alternatives });
    };
    let zone = Zone::new("probe", ZoneLimits { memory_bytes: 64 << 20, ..ZoneLimits::default() });
    let before = zone.stats().bytes;
    store(&zone, 0);
    let each = zone.stats().bytes - before;
    // A zone keeps a sixty-fourth for what it remembers of keys that are not stored.
    let limits = ZoneLimits { memory_bytes: room * each * 64 / 63, ..ZoneLimits::default() };
    let zone = Zone::new("pages", limits);
    let mut hits = 0;
    for page in trace {
        if zone.get(KeyRef::new(&page.to_le_bytes()), plain, 2).is_some() {
            hits += 1;
        } else {
            store(&zone, *page);
        }
    }
    assert!(zone.stats().objects <= room + room / 50, "{} objects of {room}", zone.stats().objects);
    hits as f64 / trace.len() as f64
}

fn lru(trace: &[u32], room: usize) -> f64 {
    let (mut last, mut queue, mut hits) = (HashMap::new(), VecDeque::new(), 0);
    for (time, page) in trace.iter().enumerate() {
        hits += usize::from(last.insert(*page, time).is_some());
        queue.push_back((*page, time));
        while last.len() > room {
            let Some((page, time)) = queue.pop_front() else { break };
            if last.get(&page) == Some(&time) {
                last.remove(&page);
            }
        }
    }
    hits as f64 / trace.len() as f64
}

/// S3-FIFO (Yang et al., SOSP 2023): a tenth for newcomers, a ghost queue as long as the rest.
fn s3_fifo(trace: &[u32], room: usize) -> f64 {
    let (mut small, mut main, mut ghost) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
    let mut uses: HashMap<u32, u8> = HashMap::new();
    let mut remembered: HashSet<u32> = HashSet::new();
    let mut hits = 0;
    for page in trace {
        if let Some(count) = uses.get_mut(page) {
            *count = (*count + 1).min(3);
            hits += 1;
            continue;
        }
        while uses.len() >= room {
            if small.len() > room / 10 {
                let Some(old) = small.pop_front() else { continue };
                if uses[&old] > 1 {
                    uses.insert(old, 0);
                    main.push_back(old);
                } else {
                    uses.remove(&old);
                    ghost.push_back(old);
                    remembered.insert(old);
                    if ghost.len() > room * 9 / 10
                        && let Some(forgotten) = ghost.pop_front()
                    {
                        remembered.remove(&forgotten);
                    }
                }
            } else if let Some(old) = main.pop_front() {
                match uses[&old] {
                    0 => _ = uses.remove(&old),
                    count => {
                        uses.insert(old, count - 1);
                        main.push_back(old);
                    }
                }
            } else if let Some(old) = small.pop_front() {
                uses.remove(&old);
            }
        }
        uses.insert(*page, 0);
        if remembered.remove(page) { main.push_back(*page) } else { small.push_back(*page) }
    }
    hits as f64 / trace.len() as f64
}

/// Keeping the most requested pages from the start: what no policy that must learn them can reach.
fn most_popular(trace: &[u32], room: usize) -> f64 {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for page in trace {
        *counts.entry(*page).or_default() += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts.iter().take(room).map(|count| count - 1).sum::<usize>() as f64 / trace.len() as f64
}

fn main() {
    let room = SET / 10;
    println!("{:<18}{:>8}{:>8}{:>9}{:>14}", "hit rate, %", "SIEVE", "LRU", "S3-FIFO", "most popular");
    for (name, trace) in [("Zipf with scans", with_scans()), ("shifting", shifting())] {
        let rates = [sieve, lru, s3_fifo, most_popular].map(|policy| policy(&trace, room) * 100.0);
        println!("{name:<18}{:>8.2}{:>8.2}{:>9.2}{:>14.2}", rates[0], rates[1], rates[2], rates[3]);
    }
}
