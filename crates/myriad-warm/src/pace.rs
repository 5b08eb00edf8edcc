//! Pace: how long to rest after each page, so that visitors do not notice.

use std::collections::VecDeque;

/// Part of PHP that warming may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Pages at once, at least 1.
    pub at_once: usize,
    /// Share of the time in which each of these asks, percent, from 1 to 100; the rest of the time it rests.
    pub percent: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { at_once: 1, percent: 50 }
    }
}

impl Budget {
    /// Reads `2`, `2,25%`, `25%`. `None` if it is no budget.
    pub fn parse(text: &str) -> Option<Self> {
        let mut budget = Self::default();
        for part in text.split(',').map(str::trim) {
            match part.strip_suffix('%') {
                Some(percent) => {
                    budget.percent = percent.parse().ok().filter(|percent| (1..=100).contains(percent))?;
                }
                None => budget.at_once = part.parse().ok().filter(|count| (1..=64).contains(count))?,
            }
        }
        Some(budget)
    }
}

/// Pages whose time is remembered.
const REMEMBERED: usize = 32;
/// So many times the usual is slow: then visitors are waiting for PHP, too.
const SLOW: u64 = 3;
/// A time below this is never slow, milliseconds.
const NOTICEABLE_MS: u64 = 100;
/// Longest rest, milliseconds, also where a server asks for more.
const LONGEST_MS: u64 = 60_000;
/// Rest after a refusal that does not say how long, milliseconds.
const REFUSED_MS: u64 = 5000;

/// Pace of those who ask together: it yields where pages take longer than usual, and where it is told to wait.
#[derive(Clone, Debug)]
pub struct Pace {
    budget: Budget,
    times: VecDeque<u64>,
    /// Slow pages in a row.
    slow: u32,
}

impl Pace {
    /// Pace of a budget.
    pub fn new(budget: Budget) -> Self {
        Self { budget, times: VecDeque::new(), slow: 0 }
    }

    /// Rest after a page that took `took_ms`, milliseconds. Each slow page in a row doubles it.
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

    /// Rest after a refusal (429, 503): what `Retry-After` says, within bounds, milliseconds.
    pub fn after_refusal(&mut self, retry_after_s: Option<u64>) -> u64 {
        self.slow = (self.slow + 1).min(10);
        retry_after_s.map_or(REFUSED_MS, |seconds| seconds.saturating_mul(1000)).clamp(1000, LONGEST_MS)
    }

    /// Usual time of a page: the median of the last ones.
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
            assert_eq!(Budget::parse(text), Some(Budget { at_once, percent }), "{text}");
        }
        for bad in ["", "0", "0%", "101%", "65", "-1", "a", "1,", "50 %x"] {
            assert_eq!(Budget::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn share_of_the_time_is_kept() {
        for percent in [1, 10, 25, 50, 90, 100] {
            let mut pace = Pace::new(Budget { at_once: 1, percent });
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
        let mut pace = Pace::new(Budget { at_once: 1, percent: 100 });
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
        let mut pace = Pace::new(Budget::default());
        let rests = [None, Some(0), Some(7), Some(u64::MAX)].map(|said| pace.after_refusal(said));
        assert_eq!(rests, [5000, 1000, 7000, 60_000]);
    }
}
