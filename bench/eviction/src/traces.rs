//! The traces. They are seeded, so every run on every machine requests the same pages.

/// Number of different pages.
pub const SET: usize = 50_000;
/// Requests of a trace.
const REQUESTS: usize = 2_000_000;

/// A trace: pages in the order of their requests.
pub struct Trace {
    pub name: &'static str,
    pub pages: Vec<u32>,
}

/// Returns all traces; the first two have a target.
pub fn all() -> Vec<Trace> {
    vec![
        Trace { name: "Zipf with scans", pages: with_scans(0.9, 20_000, 1) },
        Trace { name: "shifting", pages: shifting(0.9, 50_000, 5, 2) },
        Trace { name: "Zipf 0.7 with scans", pages: with_scans(0.7, 20_000, 3) },
        Trace { name: "Zipf 1.1 with scans", pages: with_scans(1.1, 20_000, 4) },
        Trace { name: "Zipf 1.0, many scans", pages: with_scans(1.0, 7_000, 5) },
        Trace { name: "shifting 0.7", pages: shifting(0.7, 50_000, 5, 6) },
        Trace { name: "shifting 1.1, fast", pages: shifting(1.1, 10_000, 5, 7) },
        Trace { name: "news", pages: news(8) },
    ]
}

/// Draws ranks with a Zipf distribution.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(power: f64) -> Self {
        let mut sum = 0.0;
        let sums = (1..=SET).map(|rank| {
            sum += (rank as f64).powf(-power);
            sum
        });
        Self(sums.collect())
    }

    fn draw(&self, rng: &mut fastrand::Rng) -> usize {
        let at = rng.f64() * self.0[self.0.len() - 1];
        self.0.partition_point(|sum| *sum < at).min(self.0.len() - 1)
    }
}

/// Zipf distribution with scans: with a probability of 1 in `apart` requests, a crawler requests pages that no other request
/// names, as many as a tenth of the set, each once.
fn with_scans(power: f64, apart: usize, seed: u64) -> Vec<u32> {
    let (mut rng, zipf) = (fastrand::Rng::with_seed(seed), Zipf::new(power));
    let mut trace = Vec::with_capacity(REQUESTS + SET);
    let mut unseen = SET as u32;
    while trace.len() < REQUESTS {
        if rng.usize(..apart) == 0 {
            trace.extend(unseen..unseen + SET as u32 / 10);
            unseen += SET as u32 / 10;
        }
        trace.push(zipf.draw(&mut rng) as u32);
    }
    trace
}

/// Shifting popularity: after every `apart` requests, one in `share` of the most popular tenth is swapped with a random page.
fn shifting(power: f64, apart: usize, share: usize, seed: u64) -> Vec<u32> {
    let (mut rng, zipf) = (fastrand::Rng::with_seed(seed), Zipf::new(power));
    let mut pages: Vec<u32> = (0..SET as u32).collect();
    (0..REQUESTS)
        .map(|n| {
            if n % apart == 0 {
                for rank in 0..SET / 10 {
                    if rng.usize(..share) == 0 {
                        pages.swap(rank, rng.usize(..SET));
                    }
                }
            }
            pages[zipf.draw(&mut rng)]
        })
        .collect()
}

/// A news site: new pages are most popular; older ones become less popular, with a long tail.
fn news(seed: u64) -> Vec<u32> {
    let (mut rng, zipf) = (fastrand::Rng::with_seed(seed), Zipf::new(0.8));
    (0..REQUESTS)
        .map(|n| {
            let newest = SET as u32 + (n / 40) as u32;
            newest - zipf.draw(&mut rng) as u32
        })
        .collect()
}

/// Returns the size of a page: most are small, some are large. It is the same for each request.
pub fn bytes(page: u32) -> u32 {
    let mut rng = fastrand::Rng::with_seed(u64::from(page) ^ 0x5eed);
    // Log-normal: the exponential of a sum of twelve random numbers, which is approximately normal.
    let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    (9.0 + 1.2 * normal).exp().clamp(200.0, 1_000_000.0) as u32
}
