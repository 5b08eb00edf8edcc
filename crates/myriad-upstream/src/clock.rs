//! Monotonic clock in milliseconds, shared by all workers of the process.
//!
//! A request to an origin reads the time about twenty times, mostly within microseconds. The thread of a worker
//! therefore caches the time until it has slept, which it reports with [`woken`], as nginx does. The cache is limited
//! to a few reads, in case the thread never sleeps.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Number of reads per access to the system clock.
const QUESTIONS: u32 = 32;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Cached time of a thread.
#[derive(Clone, Copy)]
struct Known {
    /// True if the thread calls [`woken`].
    sleeps: bool,
    /// Cached time in milliseconds.
    ms: u64,
    /// Number of reads for which the cache remains valid.
    left: u32,
}

thread_local! {
    /// Number of times the thread has slept; 0 if it does not call [`woken`].
    static SLEPT: Cell<u64> = const { Cell::new(0) };
    static KNOWN: Cell<Known> = const { Cell::new(Known { sleeps: false, ms: 0, left: 0 }) };
}

/// Returns the milliseconds since the first call in the process, plus one hour, so that 0 can mean "never" and is in
/// the past. Threads may differ by a few milliseconds.
pub(crate) fn now() -> u64 {
    let known = KNOWN.get();
    if known.left > 0 {
        KNOWN.set(Known { left: known.left - 1, ..known });
        return known.ms;
    }
    let ms = START.elapsed().as_millis() as u64 + 3_600_000;
    if known.sleeps {
        KNOWN.set(Known { ms, left: QUESTIONS, ..known });
    }
    ms
}

/// Converts a time of [`now`] to milliseconds since the Unix epoch.
pub(crate) fn epoch_ms(moment: u64) -> u64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    epoch.saturating_sub(now().saturating_sub(moment))
}

/// Returns the number of times this thread has slept; 0 if it does not call [`woken`]. Between two different values,
/// the runtime has polled all sockets.
pub(crate) fn slept() -> u64 {
    SLEPT.get()
}

/// Reports that the thread has slept, and invalidates its cached time. A thread that calls this once must call it after
/// every sleep.
pub fn woken() {
    SLEPT.set(SLEPT.get() + 1);
    KNOWN.set(Known { sleeps: true, ms: 0, left: 0 });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn cached_time_is_fixed_until_thread_wakes_and_only_for_threads_that_report_waking() {
        let first = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(now() > first, "nothing is believed that nobody takes back");
        woken();
        let second = now();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(now(), second);
        woken();
        assert!(now() > second);
    }

    #[test]
    fn thread_that_never_sleeps_looks_again() {
        woken();
        let first = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!((0..=QUESTIONS).any(|_| now() > first));
    }
}
