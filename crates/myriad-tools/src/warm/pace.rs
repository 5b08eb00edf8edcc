//! Pauses between requests, so that visitors are not affected.

use std::collections::VecDeque;

use myriad_base::digits::decimal;

/// Part of PHP's capacity that warming may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhpBudget {
    /// Number of concurrent requests, 1 to 64.
    pub at_once: usize,
    /// Percentage of the time, 1 to 100, in which each thread has a request in progress; for the rest of the time it
    /// pauses.
    pub percent: u32,
}

impl Default for PhpBudget {
    fn default() -> Self {
        Self { at_once: 1, percent: 50 }
    }
}

impl PhpBudget {
    /// Parses `2`, `2,25%` or `25%` (number of concurrent requests, percentage). Returns `None` for other texts.
    pub fn parse(text: &str) -> Option<Self> {
        let mut budget = Self::default();
        for part in text.split(',').map(str::trim) {
            match part.strip_suffix('%') {
                Some(percent) => {
                    budget.percent = decimal(percent).filter(|percent| (1..=100).contains(percent))?;
                }
                None => budget.at_once = decimal(part).filter(|count| (1..=64).contains(count))?,
            }
        }
        Some(budget)
    }
}

/// Maximum number of recent pages with stored durations, from which the usual duration is computed.
const REMEMBERED: usize = 32;
/// Multiple of the usual duration above which a page is slow: visitors then probably wait for PHP too.
const SLOW: u64 = 3;
/// Duration in milliseconds up to which a page is never slow.
const NOTICEABLE_MS: u64 = 100;
/// Maximum pause between requests in milliseconds, even if the server requests a longer one.
const LONGEST_MS: u64 = 60_000;
/// Pause after a rejection without `Retry-After`, in milliseconds.
const REFUSED_MS: u64 = 5000;

/// Computes the pauses between requests of all threads. They are longer if pages take longer than usual, or if the
/// server requests it.
#[derive(Clone, Debug)]
pub struct WarmPace {
    budget: PhpBudget,
    times: VecDeque<u64>,
    /// Number of successive slow pages or rejections, at most 10.
    slow: u32,
}

impl WarmPace {
    /// Creates the pace for a budget.
    pub fn new(budget: PhpBudget) -> Self {
        Self { budget, times: VecDeque::new(), slow: 0 }
    }

    /// Returns the pause after a page that took `took_ms`, in milliseconds: the time that the budget requires, at most
    /// one minute. After a slow page, it is at least 2^`n` times the page's duration (within the limit of one minute),
    /// where `n` is the number of consecutive slow pages and rejections, at most 10.
    pub fn after_page(&mut self, took_ms: u64) -> u64 {
        let usual = self.usual_ms().unwrap_or(took_ms);
        let is_slow = took_ms > NOTICEABLE_MS && took_ms > usual.saturating_mul(SLOW);
        self.slow = if is_slow { (self.slow + 1).min(10) } else { 0 };
        if self.times.len() == REMEMBERED {
            self.times.pop_front();
        }
        self.times.push_back(took_ms);
        let percent = u64::from(self.budget.percent);
        let rest = took_ms.saturating_mul(100 - percent) / percent;
        let yielded = if is_slow { took_ms << self.slow } else { 0 };
        rest.max(yielded).min(LONGEST_MS)
    }

    /// Returns the pause after a rejection (429, 503) in milliseconds: that of `Retry-After`, or 5 s; at least 1 s, at
    /// most one minute.
    pub fn after_refusal(&mut self, retry_after_s: Option<u64>) -> u64 {
        self.slow = (self.slow + 1).min(10);
        retry_after_s.map_or(REFUSED_MS, |seconds| seconds.saturating_mul(1000)).clamp(1000, LONGEST_MS)
    }

    /// Returns the usual duration of a page in milliseconds: the median of the last 32 pages; `None` before the first
    /// page.
    pub fn usual_ms(&self) -> Option<u64> {
        let mut times: Vec<u64> = self.times.iter().copied().collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read() {
        for (text, at_once, percent) in [("2", 2, 50), ("25%", 1, 25), ("4,100%", 4, 100), (" 3 , 1% ", 3, 1)]
        {
            assert_eq!(PhpBudget::parse(text), Some(PhpBudget { at_once, percent }), "{text}");
        }
        for bad in ["", "0", "0%", "101%", "65", "-1", "a", "1,", "50 %x"] {
            assert_eq!(PhpBudget::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn warming_uses_configured_share_of_time() {
        for percent in [1, 10, 25, 50, 90, 100] {
            let mut pace = WarmPace::new(PhpBudget { at_once: 1, percent });
            let (mut asked, mut rested) = (0, 0);
            for _ in 0..100 {
                asked += 40;
                rested += pace.after_page(40);
            }
            let share = asked * 100 / (asked + rested);
            assert!(share <= u64::from(percent) + 1, "{percent}: {share}");
        }
    }

    #[test]
    fn slow_pages_are_yielded_to_and_the_pace_recovers() {
        let mut pace = WarmPace::new(PhpBudget { at_once: 1, percent: 100 });
        for _ in 0..20 {
            assert_eq!(pace.after_page(50), 0);
        }
        let rests: Vec<u64> = (0..3).map(|_| pace.after_page(400)).collect();
        assert_eq!(rests, [800, 1600, 3200]);
        assert_eq!(pace.after_page(60), 0);
        assert!((0..40).all(|_| pace.after_page(30_000) <= 60_000));
    }

    #[test]
    fn refusals_are_obeyed_within_bounds() {
        let mut pace = WarmPace::new(PhpBudget::default());
        let rests = [None, Some(0), Some(7), Some(u64::MAX)].map(|said| pace.after_refusal(said));
        assert_eq!(rests, [5000, 1000, 7000, 60_000]);
    }
}
