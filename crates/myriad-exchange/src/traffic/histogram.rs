//! Histogram of durations, with buckets for the first two digits of microseconds.
//!
//! ```text
//! bucket   0    1  ...   99    100           101           ...  189             190
//! values   <=1  2  ...  100    101..=110     111..=120     ...  991..=1000      1001..=1100    microseconds
//! ```
//!
//! The upper bound of each bucket has two significant digits and is inclusive, so that usual bounds (0.25 s, 1 s) are
//! exact. The crate hdrhistogram does not support one writing thread with concurrent readers, and its bounds are powers
//! of two.

use myriad_store::page::Counter;

/// Number of buckets for a single duration each: 1 to 100 µs.
const SINGLE: usize = 100;
/// Number of buckets per decade: the first two digits range from 10 to 99.
const OF_A_DECADE: usize = 90;
/// Width of the buckets in each decade, in microseconds.
const STEPS: [u64; 8] = [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
/// Total number of buckets. The last one also contains all durations above 10,000 s.
const BUCKETS: usize = SINGLE + STEPS.len() * OF_A_DECADE;

/// Returns the index of the bucket for a duration in microseconds.
fn bucket(us: u64) -> usize {
    let below = us.saturating_sub(1);
    if below < SINGLE as u64 {
        return below as usize;
    }
    let decade = below.ilog10() as usize - 2;
    match STEPS.get(decade) {
        Some(step) => SINGLE + decade * OF_A_DECADE + (below / step) as usize - 10,
        None => BUCKETS - 1,
    }
}

/// Returns the upper bound of a bucket, in microseconds.
fn bound(bucket: usize) -> u64 {
    match bucket.checked_sub(SINGLE) {
        None => bucket as u64 + 1,
        Some(over) => STEPS[over / OF_A_DECADE] * (over % OF_A_DECADE + 11) as u64,
    }
}

/// Histogram of durations that one worker writes and other threads may read.
#[derive(Debug)]
pub(crate) struct WorkerHistogram {
    sum_us: Counter,
    counts: Box<[Counter]>,
}

impl Default for WorkerHistogram {
    fn default() -> Self {
        Self { sum_us: Counter::default(), counts: (0..BUCKETS).map(|_| Counter::default()).collect() }
    }
}

impl WorkerHistogram {
    /// Counts a duration in microseconds. Must be called only on the worker's thread.
    pub(super) fn add(&self, us: u64) {
        self.sum_us.add(us);
        if let Some(count) = self.counts.get(bucket(us)) {
            count.add(1);
        }
    }
}

/// Histogram of all workers' durations at one moment, with a precision of two digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeHistogram {
    sum_us: u64,
    /// Number of durations in each bucket; empty if no worker's durations were added.
    counts: Vec<u64>,
}

impl TimeHistogram {
    /// Adds the counts of a worker's histogram to this histogram.
    pub(super) fn read(&mut self, stopwatch: &WorkerHistogram) {
        self.counts.resize(BUCKETS, 0);
        for (sum, count) in self.counts.iter_mut().zip(&stopwatch.counts) {
            *sum += count.get();
        }
        self.sum_us += stopwatch.sum_us.get();
    }

    /// Returns the number of durations.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Returns the sum of all durations, in microseconds.
    pub fn sum_us(&self) -> u64 {
        self.sum_us
    }

    /// Returns the number of durations up to `us` microseconds, where `us` is rounded up to two digits.
    pub fn within(&self, us: u64) -> u64 {
        self.counts.iter().take(bucket(us) + 1).sum()
    }

    /// Returns the quantile `part` (0.0 to 1.0) of the durations in microseconds, rounded up to two digits; `None`
    /// without durations.
    pub fn quantile(&self, part: f64) -> Option<u64> {
        let count = self.count();
        let wanted = ((part.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        found.map(bound)
    }

    /// Returns the sum of two histograms.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum += count;
        }
        self.sum_us += other.sum_us;
        self
    }

    /// Returns the durations counted since an earlier moment: the difference of the histograms.
    #[must_use]
    pub fn since(mut self, earlier: &Self) -> Self {
        for (count, before) in self.counts.iter_mut().zip(&earlier.counts) {
            *count = count.saturating_sub(*before);
        }
        self.sum_us = self.sum_us.saturating_sub(earlier.sum_us);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(durations: impl IntoIterator<Item = u64>) -> TimeHistogram {
        let stopwatch = WorkerHistogram::default();
        durations.into_iter().for_each(|us| stopwatch.add(us));
        let mut times = TimeHistogram::default();
        times.read(&stopwatch);
        times
    }

    #[test]
    fn buckets_stand_side_by_side_and_each_holds_its_bound() {
        let mut before = 0;
        for number in 0..BUCKETS {
            let end = bound(number);
            assert!(end > before, "{number}");
            assert_eq!((bucket(before + 1), bucket(end)), (number, number));
            assert!((end - before - 1) * 10 <= end, "a bucket is at most a tenth of its upper bound wide");
            before = end;
        }
        assert_eq!(before, 10_000_000_000);
        assert_eq!((bucket(0), bucket(u64::MAX)), (0, BUCKETS - 1));
    }

    #[test]
    fn bounds_of_two_digits_are_exact() {
        let times = times([0, 1, 100, 250_000, 250_001, 1_000_000, 1_000_001]);
        let within = [1, 99, 100, 240_000, 250_000, 1_000_000, 1_100_000].map(|us| times.within(us));
        assert_eq!(within, [2, 2, 3, 3, 4, 6, 7]);
        assert_eq!((times.count(), times.sum_us()), (7, 2_500_103));
    }

    #[test]
    fn quantiles_are_those_of_the_durations_to_two_digits() {
        let of_many = times(1..=10_000);
        for (part, expected) in [(0.0, 1), (0.005, 50), (0.5, 5000), (0.99, 9900), (1.0, 10_000)] {
            assert_eq!(of_many.quantile(part), Some(expected), "{part}");
        }
        assert_eq!(times([]).quantile(0.5), None);
        assert_eq!(TimeHistogram::default().quantile(0.5), None);
    }

    #[test]
    fn moments_are_added_and_subtracted() {
        let (earlier, later) = (times([5, 7]), times([5, 7, 9]));
        assert_eq!(later.clone().since(&earlier), times([9]));
        assert_eq!(earlier.plus(&times([9])), later);
        assert_eq!(TimeHistogram::default().plus(&later), later);
    }
}
