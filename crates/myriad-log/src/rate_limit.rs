//! Rate limit of one log line per second, so that frequent events do not fill the log.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Minimum time between two log lines about the same event, in milliseconds.
const INTERVAL_MS: u64 = 1000;

/// Rate limit for the lines about one event, shared by several threads.
#[derive(Debug, Default)]
pub struct LogRateLimit {
    /// Time of the last line about the event, in milliseconds since the Unix epoch.
    last_written_ms: AtomicU64,
}

impl LogRateLimit {
    /// Returns true if a line may be written at `now_ms` (milliseconds since the Unix epoch). The caller must then
    /// write the line, because no other line is admitted in the following second.
    pub fn admits(&self, now_ms: u64) -> bool {
        let last_ms = self.last_written_ms.load(Relaxed);
        now_ms >= last_ms.saturating_add(INTERVAL_MS)
            && self.last_written_ms.compare_exchange(last_ms, now_ms, Relaxed, Relaxed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_is_let_through_in_a_second() {
        let lines = LogRateLimit::default();
        let admitted = [5000, 5000, 5999, 6000, 6001, 7000].map(|now| lines.admits(now));
        assert_eq!(admitted, [true, false, false, true, false, true]);
    }

    #[test]
    fn what_is_not_let_through_puts_nothing_off() {
        let lines = LogRateLimit::default();
        assert!(lines.admits(5000));
        assert!((5001..6000).all(|now| !lines.admits(now)));
        assert!(lines.admits(6000));
    }

    #[test]
    fn matters_do_not_silence_each_other() {
        let matters = [LogRateLimit::default(), LogRateLimit::default()];
        assert!(matters.iter().all(|lines| lines.admits(5000)));
    }

    #[test]
    fn a_clock_set_back_admits_nothing_until_it_has_caught_up() {
        let lines = LogRateLimit::default();
        assert!(lines.admits(9000));
        assert!(!lines.admits(5000) && !lines.admits(9999));
        assert!(lines.admits(10_000));
    }

    #[test]
    fn of_many_threads_one_writes() {
        let lines = LogRateLimit::default();
        let admitted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| usize::from(lines.admits(5000)))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
        });
        assert_eq!(admitted, 1);
    }
}
