//! Monotonic clock in milliseconds, shared by all workers of the process.
//!
//! A request to an origin reads the time about twenty times, mostly within microseconds. As in nginx, the thread of a
//! worker therefore caches the time until it next sleeps; it reports each wake-up with [`note_wakeup`]. The cached time
//! is also limited to a few reads, in case the thread never sleeps.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Number of reads of the cached time per access to the system clock.
const READS_PER_SYSCALL: u32 = 32;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Time cached by a thread to avoid system calls.
#[derive(Clone, Copy)]
struct CachedTime {
    /// True if the thread calls [`note_wakeup`].
    sleeps: bool,
    /// Cached time in milliseconds.
    ms: u64,
    /// Number of further reads that may use the cached time.
    reads_left: u32,
}

thread_local! {
    /// Number of calls of [`note_wakeup`] on this thread.
    static SLEPT: Cell<u64> = const { Cell::new(0) };
    static CACHED: Cell<CachedTime> = const { Cell::new(CachedTime { sleeps: false, ms: 0, reads_left: 0 }) };
}

/// Returns milliseconds since the first call in the process, plus one hour, so that 0, which can mean "never", is
/// always in the past. The times of two threads may differ by a few milliseconds.
pub(crate) fn now() -> u64 {
    let known = CACHED.get();
    if known.reads_left > 0 {
        CACHED.set(CachedTime { reads_left: known.reads_left - 1, ..known });
        return known.ms;
    }
    let ms = START.elapsed().as_millis() as u64 + 3_600_000;
    if known.sleeps {
        CACHED.set(CachedTime { ms, reads_left: READS_PER_SYSCALL, ..known });
    }
    ms
}

/// Converts a time in the units of [`now`] to milliseconds since the Unix epoch.
pub(crate) fn epoch_ms(moment: u64) -> u64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    epoch.saturating_sub(now().saturating_sub(moment))
}

/// Returns the number of times this thread has slept; 0 if it does not call [`note_wakeup`]. The runtime has polled all
/// sockets if the number has changed between two calls.
pub(crate) fn sleep_count() -> u64 {
    SLEPT.get()
}

/// Reports that the thread has woken from sleep, and invalidates its cached time. A thread that calls this once must
/// call it after every sleep.
pub fn note_wakeup() {
    SLEPT.set(SLEPT.get() + 1);
    CACHED.set(CachedTime { sleeps: true, ms: 0, reads_left: 0 });
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
        note_wakeup();
        let second = now();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(now(), second);
        note_wakeup();
        assert!(now() > second);
    }

    #[test]
    fn thread_that_never_sleeps_looks_again() {
        note_wakeup();
        let first = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!((0..=READS_PER_SYSCALL).any(|_| now() > first));
    }
}
