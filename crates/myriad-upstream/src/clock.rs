//! Milliseconds that never go back, shared by all workers of the process.
//!
//! A request to an origin asks for the time some twenty times, mostly within microseconds. So a worker's thread, which says when it has slept
//! ([`woken`]), asks the kernel once and believes it until it sleeps again, as nginx does; and for no more than a few questions, should it never sleep.

use std::cell::Cell;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Questions that one look at the clock answers.
const QUESTIONS: u32 = 32;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What a thread knows of the time.
#[derive(Clone, Copy)]
struct Known {
    /// Whether it says when it has slept.
    sleeps: bool,
    /// What the clock said.
    ms: u64,
    /// Questions for which that still holds.
    left: u32,
}

thread_local! {
    /// How often the thread has slept; 0 where it does not say so.
    static SLEPT: Cell<u64> = const { Cell::new(0) };
    static KNOWN: Cell<Known> = const { Cell::new(Known { sleeps: false, ms: 0, left: 0 }) };
}

/// Milliseconds since the process first asked, plus one hour: far enough from 0 that "never" is in the past. Threads may be a few
/// milliseconds apart.
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

/// A moment of [`now`] in milliseconds since the Unix epoch.
pub(crate) fn epoch_ms(moment: u64) -> u64 {
    let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    epoch.saturating_sub(now().saturating_sub(moment))
}

/// How often this thread has slept, 0 where it does not say so: between two answers that differ, its runtime has learnt what came on sockets.
pub(crate) fn slept() -> u64 {
    SLEPT.get()
}

/// The thread has slept: what it knew of the time is over. Whoever calls this once calls it whenever the thread has slept.
pub fn woken() {
    SLEPT.set(SLEPT.get() + 1);
    KNOWN.set(Known { sleeps: true, ms: 0, left: 0 });
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_stands_until_the_thread_has_slept_and_only_for_threads_that_say_so() {
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
