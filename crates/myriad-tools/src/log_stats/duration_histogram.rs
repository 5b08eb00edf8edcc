//! Histogram of durations in a few hundred bytes. It has four buckets per octave, so that a percentile is
//! at most a quarter too high. Durations below 1 ms count as 1 ms.

/// Number of buckets of the histogram. The last one contains all durations from some seven hours (1.5 * 2^34
/// microseconds) on.
const BUCKETS: usize = 4 * 25;
/// Binary logarithm of the duration in microseconds below which all durations share the first bucket: 2^10 µs, about 1
/// ms.
const SHORTEST: u32 = 10;

/// Histogram of request durations in microseconds.
#[derive(Clone, Debug)]
pub(crate) struct DurationHistogram {
    pub(crate) count: u64,
    pub(crate) sum_us: u64,
    pub(crate) max_us: u64,
    buckets: Box<[u32; BUCKETS]>,
}

impl Default for DurationHistogram {
    fn default() -> Self {
        Self { count: 0, sum_us: 0, max_us: 0, buckets: Box::new([0; BUCKETS]) }
    }
}

impl DurationHistogram {
    pub(crate) fn add(&mut self, took_us: u64) {
        self.count += 1;
        self.sum_us = self.sum_us.saturating_add(took_us);
        self.max_us = self.max_us.max(took_us);
        let bucket = &mut self.buckets[bucket(took_us)];
        *bucket = bucket.saturating_add(1);
    }

    pub(crate) fn mean_us(&self) -> u64 {
        self.sum_us.checked_div(self.count).unwrap_or(0)
    }

    /// Returns the duration in microseconds that a fraction `q` (0 to 1) of all durations does not exceed, rounded up
    /// to the bound of its bucket, but at most the longest duration; 0 if there are no durations.
    pub(crate) fn quantile_us(&self, q: f64) -> u64 {
        let wanted = ((self.count as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        for (at, count) in self.buckets.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return upper_us(at).min(self.max_us);
            }
        }
        self.max_us
    }
}

fn bucket(took_us: u64) -> usize {
    let log = took_us.checked_ilog2().unwrap_or(0);
    if log < SHORTEST {
        return 0;
    }
    let quarter = (took_us >> (log - 2)) & 3;
    (1 + 4 * (log - SHORTEST) as usize + quarter as usize).min(BUCKETS - 1)
}

fn upper_us(bucket: usize) -> u64 {
    let Some(bucket) = bucket.checked_sub(1) else { return 1 << SHORTEST };
    let (octave, quarter) = (bucket / 4, bucket as u64 % 4);
    (5 + quarter) << (octave + SHORTEST as usize - 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_fifth() {
        let mut times = DurationHistogram::default();
        (1..=1000).for_each(|number| times.add(number * 10_000));
        for (q, expected) in [(0.5, 5_000_000), (0.95, 9_500_000), (0.99, 9_900_000)] {
            let found = times.quantile_us(q);
            assert!(found >= expected && found <= expected * 6 / 5, "{q}: {found}");
        }
        assert_eq!((times.mean_us(), times.max_us), (5_005_000, 10_000_000));
    }

    #[test]
    fn each_duration_is_in_the_bucket_that_covers_it() {
        for log in 0..60 {
            for took_us in [1_u64 << log, (1 << log) + 1, (1 << log) * 3 / 2] {
                let at = bucket(took_us);
                assert!(at == BUCKETS - 1 || took_us <= upper_us(at), "{took_us}");
                assert!(at == 0 || took_us >= upper_us(at - 1) || at == BUCKETS - 1, "{took_us}");
            }
        }
        assert_eq!(DurationHistogram::default().quantile_us(0.5), 0);
    }
}
