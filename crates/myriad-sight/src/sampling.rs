//! Which hits are counted, and for how many each stands; of answers that an origin gave at once, the same.

use std::cell::Cell;

/// Hits of a second that are all counted; beyond them one of [`MEAN`] is.
const EXACT: u32 = 64;
/// How many hits one that is counted stands for, on average, where there are many.
const MEAN: u32 = 32;

/// Chooses hits of one worker. The gaps between them are random, so that no rhythm of the visitors hides a page, and each stands for its own
/// gap, so that the sum is that of all hits but for those since the last one chosen.
#[derive(Debug)]
pub struct Sampling {
    /// Hits to pass over before the next that is counted.
    left: Cell<u32>,
    /// How many it stands for.
    stands_for: Cell<u32>,
    /// The second of the last one counted, and how many were counted in it.
    second: Cell<(u64, u32)>,
    random: Cell<u64>,
}

impl Sampling {
    /// The first hit is counted; `seed` is any number.
    pub fn new(seed: u64) -> Self {
        let random = Cell::new(seed | 1);
        Self { left: Cell::new(0), stands_for: Cell::new(1), second: Cell::new((0, 0)), random }
    }

    /// Whether a hit is passed over.
    #[inline]
    pub fn passes_over(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.wrapping_sub(1));
        left > 0
    }

    /// For how many a hit stands that was not passed over; `now_ms` in milliseconds since the epoch.
    pub fn take(&self, now_ms: u64) -> u64 {
        let stood_for = self.stands_for.get();
        let (second, counted) = self.second.get();
        let counted = if second == now_ms / 1000 { counted + 1 } else { 1 };
        self.second.set((now_ms / 1000, counted));
        let next = if counted < EXACT { 1 } else { 1 + self.random() % (2 * MEAN - 1) };
        self.stands_for.set(next);
        self.left.set(next - 1);
        u64::from(stood_for)
    }

    /// xorshift64 (Marsaglia 2003).
    fn random(&self) -> u32 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        (random >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(sampling: &Sampling, hits: u32, now_ms: u64) -> (u32, u64) {
        let (mut number, mut sum) = (0, 0);
        for _ in 0..hits {
            if !sampling.passes_over() {
                number += 1;
                sum += sampling.take(now_ms);
            }
        }
        (number, sum)
    }

    #[test]
    fn few_hits_are_all_counted() {
        let sampling = Sampling::new(7);
        for second in 1..10 {
            assert_eq!(counted(&sampling, EXACT - 1, second * 1000), (EXACT - 1, u64::from(EXACT - 1)));
        }
    }

    #[test]
    fn many_hits_are_counted_by_samples_that_stand_for_all() {
        let sampling = Sampling::new(9);
        let (number, sum) = counted(&sampling, 100_000, 5000);
        assert!(number < EXACT + 2 * 100_000 / MEAN, "{number}");
        assert!((100_000 - u64::from(2 * MEAN)..=100_000).contains(&sum), "{sum}");
    }

    #[test]
    fn a_rhythm_of_pages_hides_none() {
        let sampling = Sampling::new(3);
        let mut sums = [0u64; 32];
        for hit in 0..320_000u64 {
            if !sampling.passes_over() {
                sums[(hit % 32) as usize] += sampling.take(5000);
            }
        }
        assert!(sums.iter().all(|sum| (7_000..13_000).contains(sum)), "{sums:?}");
    }
}
