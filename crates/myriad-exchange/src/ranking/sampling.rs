//! Sampling of frequent, cheap requests (cache hits, quick misses), in which each sample represents a number of
//! requests.

use std::cell::Cell;

/// Number of requests in a second that are all samples. Of the further requests in that second, on average one of
/// [`MEAN`] is a sample; the last gap between two samples may extend into the next second.
const EXACT: u32 = 64;
/// Mean number of requests that a sample represents at high rates.
const MEAN: u32 = 32;

/// Sampler of one worker. The gaps between samples are random, so that periodic requests are not missed. Each sample
/// represents its preceding gap, so the weights add up to the number of requests up to the last sample.
#[derive(Debug)]
pub struct Sampling {
    /// Number of requests to skip before the next sample.
    left: Cell<u32>,
    /// Number of requests that the next sample represents.
    next_weight: Cell<u32>,
    /// Time of the last sample in seconds since the epoch, and the number of samples in that second.
    second: Cell<(u64, u32)>,
    random: Cell<u64>,
}

impl Sampling {
    /// Creates a sampler that takes the first request. `seed` may be any number.
    pub fn new(seed: u64) -> Self {
        let random = Cell::new(seed | 1);
        Self { left: Cell::new(0), next_weight: Cell::new(1), second: Cell::new((0, 0)), random }
    }

    /// Counts a request. If it is a sample, returns the number of requests that it represents; otherwise `None`.
    /// `now_ms` is in milliseconds since the epoch.
    #[inline]
    pub fn weight(&self, now_ms: u64) -> Option<u64> {
        match self.left.get().checked_sub(1) {
            None => Some(self.take(now_ms)),
            Some(left) => {
                self.left.set(left);
                None
            }
        }
    }

    /// Takes a request as a sample, chooses the next sample, and returns the number of requests that the taken one
    /// represents.
    fn take(&self, now_ms: u64) -> u64 {
        let stood_for = self.next_weight.get();
        let (second, counted) = self.second.get();
        let counted = if second == now_ms / 1000 { counted + 1 } else { 1 };
        self.second.set((now_ms / 1000, counted));
        let next = if counted < EXACT { 1 } else { 1 + self.random() % (2 * MEAN - 1) };
        self.next_weight.set(next);
        self.left.set(next - 1);
        u64::from(stood_for)
    }

    /// Returns the next pseudo-random number of the generator xorshift64 (Marsaglia 2003).
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
            if let Some(weight) = sampling.weight(now_ms) {
                number += 1;
                sum += weight;
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
            sums[(hit % 32) as usize] += sampling.weight(5000).unwrap_or(0);
        }
        assert!(sums.iter().all(|sum| (7_000..13_000).contains(sum)), "{sums:?}");
    }
}
