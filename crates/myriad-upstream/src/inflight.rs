//! How long the requests under way at a peer have taken so far (`least_time ... inflight`): a peer that hangs has no answer whose time
//! could be noted.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is known of a peer's requests under way; nothing without `inflight`.
#[derive(Debug, Default)]
pub(crate) struct Inflight {
    /// The average, to be read without the lock; 0 where none is under way.
    shown_ms: AtomicU32,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    count: u64,
    /// The sum of the moments at which they began, so that the mean of their ages follows at any time.
    begun_ms: u64,
    /// How old they have been of late whenever a choice was made, milliseconds.
    average_ms: u32,
}

/// The next average: each time counts for a twentieth of it, the first one for all.
pub(crate) fn averaged(before: u32, ms: u64) -> u32 {
    let ms = u32::try_from(ms).unwrap_or(u32::MAX).max(1);
    match before {
        0 => ms,
        _ => ((u64::from(before) * 19 + u64::from(ms)) / 20).max(1) as u32,
    }
}

impl Inflight {
    /// A request begins.
    pub(crate) fn begin(&self, now: u64) {
        let mut known = self.lock();
        known.count += 1;
        known.begun_ms += now;
        self.show(&known);
    }

    /// A request that has begun then is under way no more.
    pub(crate) fn end(&self, begun: u64) {
        let mut known = self.lock();
        known.count -= 1;
        known.begun_ms -= begun;
        self.show(&known);
    }

    /// A choice is made: notes how old the requests are now.
    pub(crate) fn look(&self, now: u64) {
        let mut known = self.lock();
        if let Some(begun) = known.begun_ms.checked_div(known.count) {
            known.average_ms = averaged(known.average_ms, now.saturating_sub(begun));
        }
        self.show(&known);
    }

    /// The average of their ages, milliseconds; 0 where none is under way.
    pub(crate) fn average_ms(&self) -> u32 {
        self.shown_ms.load(Relaxed)
    }

    fn show(&self, known: &Known) {
        self.shown_ms.store(if known.count == 0 { 0 } else { known.average_ms }, Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_under_way_age_until_they_end() {
        let inflight = Inflight::default();
        inflight.look(1000);
        assert_eq!(inflight.average_ms(), 0, "none is under way");
        inflight.begin(100_000);
        inflight.begin(101_000);
        inflight.look(102_000);
        assert_eq!(inflight.average_ms(), 1500);
        inflight.end(100_000);
        inflight.look(102_500);
        assert_eq!(inflight.average_ms(), 1500);
        inflight.look(141_000);
        assert_eq!(inflight.average_ms(), 3425, "a twentieth of 40 s, and the rest of what was known");
        inflight.end(101_000);
        assert_eq!(inflight.average_ms(), 0);
    }
}
