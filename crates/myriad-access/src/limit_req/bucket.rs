//! Leaky bucket of `limit_req`. Requests are counted in thousandths, and time in milliseconds, as in nginx.

/// One request in the unit of buckets and rates: thousandths of a request.
pub(super) const REQUEST: u64 = 1000;
/// Maximum distance by which the clock may go back without effect, in milliseconds (if it goes back by more, it has
/// been set); also the minimum time without a request after which a bucket may be removed.
const WAVERING_MS: u64 = 60_000;

/// Leaky bucket that counts the requests of one `limit_req` key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bucket {
    /// Requests in excess of the rate, in thousandths of a request.
    excess: u64,
    /// Time of the last update, in milliseconds of the process clock.
    last_ms: u64,
}

impl Bucket {
    /// Returns the bucket after the first request of a key, at `now`.
    pub(super) fn new(now: u64) -> Self {
        Self { excess: 0, last_ms: now }
    }

    /// Returns the excess if one more request is counted at `now`; `rate` is in thousandths of a request per second.
    /// Does not count it.
    pub(super) fn excess_after(&self, rate: u64, now: u64) -> u64 {
        self.leaked(rate, now, REQUEST)
    }

    /// Counts requests of other nodes at `now`. They increase the excess to at most `max_excess`.
    pub(super) fn add_requests(&mut self, count: u32, max_excess: u64, rate: u64, now: u64) {
        let most = max_excess.max(self.leaked(rate, now, 0));
        let excess = self.leaked(rate, now, REQUEST.saturating_mul(u64::from(count)));
        self.fill(excess.min(most), now);
    }

    /// Returns the excess at `now` after the addition of this number of thousandths of a request.
    fn leaked(&self, rate: u64, now: u64, added: u64) -> u64 {
        let leaked = rate.saturating_mul(self.elapsed(now)) / 1000;
        self.excess.saturating_add(added).saturating_sub(leaked)
    }

    /// Counts a request: `excess` is the result of [`Self::excess_after`] for it.
    pub(super) fn fill(&mut self, excess: u64, now: u64) {
        // Within the same millisecond, and after a small step back of the clock, `last_ms` stays, as nothing has
        // leaked.
        if self.elapsed(now) > 0 {
            self.last_ms = now;
        }
        self.excess = excess;
    }

    /// Returns whether the bucket can be removed: it has not been used for a minute, and its excess has leaked.
    pub(super) fn is_removable(&self, rate: u64, now: u64) -> bool {
        let elapsed = self.elapsed(now);
        elapsed >= WAVERING_MS && rate.saturating_mul(elapsed) / 1000 >= self.excess
    }

    fn elapsed(&self, now: u64) -> u64 {
        if now >= self.last_ms { now - self.last_ms } else { u64::from(self.last_ms - now > WAVERING_MS) }
    }
}

/// Returns the delay of a request with this excess, in milliseconds. `excess`, `delay` (excess without a delay) and
/// `rate` (per second) are in thousandths of a request.
pub(super) fn wait_ms(excess: u64, delay: u64, rate: u64) -> u64 {
    excess.saturating_sub(delay).saturating_mul(1000) / rate.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_leaks_at_the_rate() {
        let mut bucket = Bucket::new(1_000);
        assert_eq!(bucket.excess_after(2000, 1_000), 1000);
        bucket.fill(1000, 1_000);
        assert_eq!(bucket.excess_after(2000, 1_000), 2000);
        assert_eq!(bucket.excess_after(2000, 1_250), 1500);
        assert_eq!(bucket.excess_after(2000, 1_500), 1000);
        assert_eq!(bucket.excess_after(2000, 2_000), 0);
        assert_eq!(bucket.excess_after(2000, 99_000), 0);
    }

    #[test]
    fn slow_rates_are_counted_to_the_millisecond() {
        let mut bucket = Bucket::new(0);
        bucket.fill(1000, 0);
        // 1r/m is 16 thousandths per second: 62.5 seconds for a whole request.
        assert_eq!(bucket.excess_after(16, 62_499), 1001);
        assert_eq!(bucket.excess_after(16, 62_500), 1000);
    }

    #[test]
    fn clock_that_goes_back_gives_nothing_away() {
        let mut bucket = Bucket::new(100_000);
        bucket.fill(1000, 100_000);
        assert_eq!(bucket.excess_after(1_000_000, 99_000), 2000);
        // The clock was set back by minutes: this counts as one millisecond, and counting continues from the new time.
        assert_eq!(bucket.excess_after(1_000_000, 10_000), 1000);
        bucket.fill(1000, 10_000);
        assert_eq!(bucket.last_ms, 10_000);
    }

    #[test]
    fn wait_follows_what_is_beyond_the_delay() {
        assert_eq!(wait_ms(1000, 0, 2000), 500);
        assert_eq!(wait_ms(2000, 1000, 500), 2000);
        assert_eq!(wait_ms(1000, 1000, 500), 0);
        assert_eq!(wait_ms(5000, u64::MAX, 500), 0);
    }

    #[test]
    fn forgotten_are_those_that_owe_nothing_for_a_minute() {
        let mut bucket = Bucket::new(0);
        bucket.fill(1000, 0);
        assert!(!bucket.is_removable(2000, 59_999));
        assert!(bucket.is_removable(2000, 60_000));
        assert!(!bucket.is_removable(16, 62_000));
        assert!(bucket.is_removable(16, 62_500));
    }
}
