//! Age of the active requests of a peer (`least_time ... inflight`). A peer that hangs completes no requests, so only
//! their age shows that it is slow.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ages of the active requests of a peer; unused without `least_time ... inflight`.
#[derive(Debug, Default)]
pub(crate) struct Inflight {
    /// Copy of `average_ms` that is readable without the lock; 0 without active requests.
    shown_ms: AtomicU32,
    stats: Mutex<InflightStats>,
}

#[derive(Debug, Default)]
struct InflightStats {
    /// Number of active requests.
    count: u64,
    /// Sum of the start times of the active requests in the units of `clock::now`, from which the mean age follows at
    /// any time.
    begun_ms: u64,
    /// Moving average, in milliseconds, of the mean ages sampled at each choice of a peer.
    average_ms: u32,
}

/// Returns the next moving average in milliseconds: nineteen twentieths of `before` and one twentieth of `ms`; `ms` if
/// `before` is 0. At least 1.
pub(crate) fn averaged(before: u32, ms: u64) -> u32 {
    let ms = u32::try_from(ms).unwrap_or(u32::MAX).max(1);
    match before {
        0 => ms,
        _ => ((u64::from(before) * 19 + u64::from(ms)) / 20).max(1) as u32,
    }
}

impl Inflight {
    /// Records the start of a request.
    pub(crate) fn begin(&self, now: u64) {
        let mut known = self.lock();
        known.count += 1;
        known.begun_ms += now;
        self.show(&known);
    }

    /// Records the end of a request for which [`Inflight::begin`] was called with the time `begun`.
    pub(crate) fn end(&self, begun: u64) {
        let mut known = self.lock();
        known.count -= 1;
        known.begun_ms -= begun;
        self.show(&known);
    }

    /// Adds the current mean age of the requests to the moving average; no effect without requests.
    pub(crate) fn sample(&self, now: u64) {
        let mut known = self.lock();
        if let Some(begun) = known.begun_ms.checked_div(known.count) {
            known.average_ms = averaged(known.average_ms, now.saturating_sub(begun));
        }
        self.show(&known);
    }

    /// Returns the moving average of the age of active requests in milliseconds; 0 without active requests.
    pub(crate) fn average_ms(&self) -> u32 {
        self.shown_ms.load(Relaxed)
    }

    fn show(&self, stats: &InflightStats) {
        self.shown_ms.store(if stats.count == 0 { 0 } else { stats.average_ms }, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, InflightStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_under_way_age_until_they_end() {
        let inflight = Inflight::default();
        inflight.sample(1000);
        assert_eq!(inflight.average_ms(), 0, "none is under way");
        inflight.begin(100_000);
        inflight.begin(101_000);
        inflight.sample(102_000);
        assert_eq!(inflight.average_ms(), 1500);
        inflight.end(100_000);
        inflight.sample(102_500);
        assert_eq!(inflight.average_ms(), 1500);
        inflight.sample(141_000);
        assert_eq!(inflight.average_ms(), 3425, "a twentieth of 40 s, and the rest of what was known");
        inflight.end(101_000);
        assert_eq!(inflight.average_ms(), 0);
    }
}
