//! Latest durations of the requests that one worker counts for a key.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_store::page::Counter;

/// Number of durations that are stored: as many as nginx-module-vts averages.
pub const LAST_TIMES: usize = 64;
/// Number of bits for the duration in a word. The other bits contain its end time.
const DURATION_BITS: u32 = 20;
/// Maximum duration that is stored, in milliseconds (about 17 minutes). Longer durations are stored as this value.
const LONGEST_MS: u64 = (1 << DURATION_BITS) - 1;

/// Latest durations of one worker. Each is stored with its end time in one word, so that readers get consistent pairs.
#[derive(Debug)]
pub(super) struct LastTimes {
    written: Counter,
    words: [AtomicU64; LAST_TIMES],
}

impl Default for LastTimes {
    fn default() -> Self {
        Self { written: Counter::default(), words: std::array::from_fn(|_| AtomicU64::new(0)) }
    }
}

impl LastTimes {
    /// Stores a duration that ended at `at_ms` (milliseconds since the epoch), replacing the oldest if [`LAST_TIMES`]
    /// durations are stored.
    pub(super) fn add(&self, at_ms: u64, duration_ms: u64) {
        let word = at_ms << DURATION_BITS | duration_ms.min(LONGEST_MS);
        self.words[self.written.get() as usize % LAST_TIMES].store(word, Relaxed);
        self.written.add(1);
    }

    /// Appends pairs of end time and duration, in no particular order.
    pub(super) fn append(&self, out: &mut Vec<(u64, u64)>) {
        let words = self.words.iter().map(|word| word.load(Relaxed)).filter(|word| *word > 0);
        out.extend(words.map(|word| (word >> DURATION_BITS, word & LONGEST_MS)));
    }
}

/// Method of averaging durations (`vhost_traffic_status_average_method`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Average {
    /// True if later durations have more weight: the n-th duration has weight n.
    pub weighted: bool,
    /// Maximum age of a duration that is included, in milliseconds; 0 for any age.
    pub period_ms: u64,
}

impl Average {
    /// Returns the average in milliseconds of pairs of end time and duration, sorted by end time; 0 if none is young
    /// enough.
    pub fn of(self, times: &[(u64, u64)], now_ms: u64) -> u64 {
        let since = if self.period_ms > 0 { now_ms.saturating_sub(self.period_ms) } else { 0 };
        let (mut sum, mut weights) = (0, 0);
        let young = times.iter().filter(|(at_ms, _)| *at_ms > since);
        for ((_, duration_ms), place) in young.zip(1..) {
            let weight = if self.weighted { place } else { 1 };
            sum += duration_ms * weight;
            weights += weight;
        }
        sum.checked_div(weights).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latest_durations_are_retained_with_timestamps() {
        let times = LastTimes::default();
        for number in 1..=LAST_TIMES as u64 + 1 {
            times.add(1_700_000_000_000 + number, number);
        }
        times.add(1_700_000_009_000, u64::MAX);
        let mut found = Vec::new();
        times.append(&mut found);
        found.sort_unstable();
        assert_eq!(found.len(), LAST_TIMES);
        assert_eq!(found[0], (1_700_000_000_003, 3));
        assert_eq!(found.last(), Some(&(1_700_000_009_000, LONGEST_MS)));
    }

    #[test]
    fn averages_are_those_of_young_durations() {
        let times = [(10, 100), (20, 2), (30, 5)];
        let average = |weighted, period_ms| Average { weighted, period_ms }.of(&times, 40);
        assert_eq!((average(false, 0), average(true, 0)), (35, (100 + 4 + 15) / 6));
        assert_eq!((average(false, 25), average(true, 25)), (3, 4));
        assert_eq!(average(false, 1), 0);
    }
}
