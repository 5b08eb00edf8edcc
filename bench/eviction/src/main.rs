//! Compares the hit rates of the store's eviction with other caches on seeded traces. The cache has room for a tenth of the pages.
//!
//!     cargo run --release --manifest-path bench/eviction/Cargo.toml [-- --markdown]
//!
//! Each trace is run twice: with pages of one size, and with pages of different sizes (`traces::bytes`) and room for a tenth of
//! the bytes. All candidates get the same page sizes, which include a zone's overhead. The first two traces have a target; the
//! others show that the policy was not tuned to these two.

mod policies;
mod traces;

use policies::Policy;
use policies::libraries::{Foyer, Moka, QuickCache};
use policies::lru::Lru;
use policies::s3_fifo::S3Fifo;
use policies::sieve::Sieve;
use policies::zone::Myriad;
use traces::Trace;

/// Creates a candidate from its capacity in bytes and the approximate number of pages in it.
type Make = fn(u64, usize) -> Box<dyn Policy>;

const CANDIDATES: [(&str, Make); 10] = [
    ("Myriad", |room, _| Box::new(Myriad::new(room))),
    ("moka", |room, _| Box::new(Moka::new(room))),
    ("quick_cache", |room, pages| Box::new(QuickCache::new(room, pages))),
    ("foyer, W-TinyLFU", |room, _| Box::new(Foyer::lfu(room))),
    ("foyer, S3-FIFO", |room, _| Box::new(Foyer::s3_fifo(room))),
    ("foyer, SIEVE", |room, _| Box::new(Foyer::sieve(room))),
    ("foyer, LRU", |room, _| Box::new(Foyer::lru(room))),
    ("S3-FIFO as published", |room, _| Box::new(S3Fifo::new(room))),
    ("SIEVE as published", |room, _| Box::new(Sieve::new(room))),
    ("LRU", |room, _| Box::new(Lru::new(room))),
];
/// Range of the libraries in [`CANDIDATES`]; the zone is compared with the best of them.
const LIBRARIES: std::ops::Range<usize> = 1..7;

/// Page sizes of a run: one size, or different sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sizes {
    One,
    Many,
}

impl Sizes {
    fn of(self, page: u32, overhead: u32) -> u32 {
        overhead + if self == Self::One { 4000 } else { traces::bytes(page) }
    }
}

fn hit_rate(make: Make, trace: &Trace, sizes: Sizes, overhead: u32) -> f64 {
    let room = (0..traces::SET as u32).map(|page| u64::from(sizes.of(page, overhead))).sum::<u64>() / 10;
    let mut policy = make(room, traces::SET / 10);
    let hits = trace.pages.iter().filter(|page| policy.request(**page, sizes.of(**page, overhead))).count();
    hits as f64 / trace.pages.len() as f64 * 100.0
}

/// One line of the table: a trace and the rates of all candidates.
struct Line {
    title: String,
    rates: Vec<f64>,
}

fn measure() -> Vec<Line> {
    let overhead = Myriad::overhead();
    let traces = traces::all();
    let runs: Vec<(&Trace, Sizes)> = [Sizes::One, Sizes::Many]
        .into_iter()
        .flat_map(|sizes| traces.iter().map(move |trace| (trace, sizes)))
        .collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let lines = std::sync::Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((trace, sizes)) =
                    runs.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    let rates = CANDIDATES.map(|(_, make)| hit_rate(make, trace, *sizes, overhead)).to_vec();
                    let title = if *sizes == Sizes::One {
                        trace.name.to_owned()
                    } else {
                        format!("{}, sizes", trace.name)
                    };
                    lines.lock().expect("no thread panics").push((title, rates));
                }
            });
        }
    });
    let measured = lines.into_inner().expect("no thread panics");
    let place = |title: &String| {
        runs.iter().position(|(trace, sizes)| {
            title.starts_with(trace.name) && (title.len() == trace.name.len()) == (*sizes == Sizes::One)
        })
    };
    let mut lines: Vec<_> =
        measured.into_iter().map(|(title, rates)| (place(&title), Line { title, rates })).collect();
    lines.sort_by_key(|(place, _)| *place);
    lines.into_iter().map(|(_, line)| line).collect()
}

fn print(lines: &[Line], markdown: bool) {
    let (left, bar) = if markdown { ("| ", " | ") } else { ("", "  ") };
    let width = lines.iter().map(|line| line.title.len()).max().unwrap_or(0);
    let names: Vec<&str> = CANDIDATES.iter().map(|(name, _)| *name).collect();
    println!(
        "{left}{:<width$}{bar}{}{bar}against the best library{}",
        "hit rate, %",
        names.join(bar),
        bar.trim_end()
    );
    if markdown {
        println!("|{}", "---|".repeat(names.len() + 2));
    }
    for Line { title, rates } in lines {
        let cells: Vec<String> = rates
            .iter()
            .zip(&names)
            .map(|(rate, name)| format!("{rate:>width$.2}", width = name.len()))
            .collect();
        let best = rates[LIBRARIES].iter().copied().fold(f64::MIN, f64::max);
        println!(
            "{left}{title:<width$}{bar}{}{bar}{:>+.2}{}",
            cells.join(bar),
            rates[0] - best,
            bar.trim_end()
        );
    }
}

fn main() {
    print(&measure(), std::env::args().any(|argument| argument == "--markdown"));
}
