//! Request and response counters of a peer. Each thread counts separately; a reader sums the counters.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::tls_counts::TlsCounts;

/// Upper bounds of the histogram of response times in milliseconds, as in NGINX Plus.
pub const RESPONSE_TIME_BOUNDS: [u64; 14] =
    [5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000];

/// Number of copies of a peer's counters; with more threads, several share a copy.
const SHARDS: usize = 8;

static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SHARE: usize = NEXT_THREAD.fetch_add(1, Relaxed) % SHARDS;
}

/// Finished attempt with a peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FinishedAttempt {
    /// Number of bytes sent to the peer.
    pub(crate) sent: u64,
    /// Number of bytes received from the peer, including framing.
    pub(crate) received: u64,
    /// Time from the start to the end of the attempt in milliseconds.
    pub(crate) response_ms: u64,
    /// Status of the received response head; 0 if none was received.
    pub(crate) head_status: u16,
}

/// Counters of a peer since the start of the process or the last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerTraffic {
    /// Number of responses for each status, in ascending order of the statuses.
    pub statuses: Vec<(u16, u64)>,
    /// Number of bytes sent to the peer.
    pub sent: u64,
    /// Number of bytes received from the peer, including framing.
    pub received: u64,
    /// Number of responses by time in milliseconds, with the upper bounds [`RESPONSE_TIME_BOUNDS`] (inclusive); the
    /// last element counts longer times. Attempts without a response head are not included.
    pub response_times: [u64; RESPONSE_TIME_BOUNDS.len() + 1],
    /// Sum of the times in `response_times` in milliseconds.
    pub response_sum_ms: u64,
    /// Counters of TLS handshakes.
    pub tls: TlsCounts,
}

impl PeerTraffic {
    /// Returns the number of responses by the first digit of their status, from 1 to 5; other statuses are ignored.
    pub fn classes(&self) -> [u64; 5] {
        let mut classes = [0; 5];
        for (status, count) in &self.statuses {
            if let Some(class) = classes.get_mut(usize::from(status / 100).wrapping_sub(1)) {
                *class += count;
            }
        }
        classes
    }

    /// Returns the total number of responses of the peer.
    pub fn responses(&self) -> u64 {
        self.statuses.iter().map(|(_, count)| count).sum()
    }

    fn status(&mut self, status: u16, count: u64) {
        match self.statuses.binary_search_by_key(&status, |(known, _)| *known) {
            Ok(at) => self.statuses[at].1 += count,
            Err(at) => self.statuses.insert(at, (status, count)),
        }
    }

    fn record(&mut self, tried: &FinishedAttempt) {
        self.sent += tried.sent;
        self.received += tried.received;
        if tried.head_status == 0 {
            return;
        }
        self.status(tried.head_status, 1);
        let ms = tried.response_ms;
        self.response_times[RESPONSE_TIME_BOUNDS.partition_point(|bound| *bound < ms)] += 1;
        self.response_sum_ms += ms;
    }

    fn add(&mut self, other: &Self) {
        other.statuses.iter().for_each(|(status, count)| self.status(*status, *count));
        self.sent += other.sent;
        self.received += other.received;
        for (sum, count) in self.response_times.iter_mut().zip(other.response_times) {
            *sum += count;
        }
        self.response_sum_ms += other.response_sum_ms;
        self.tls.add(&other.tls);
    }
}

/// Request and response counters of a peer, one copy for each of [`SHARDS`] groups of threads. A lock is usually only
/// contended while a reader sums the copies.
#[derive(Debug, Default)]
pub(crate) struct PeerCounts([OnceLock<Box<Mutex<PeerTraffic>>>; SHARDS]);

impl PeerCounts {
    /// Counts a finished attempt with the peer.
    pub(crate) fn record(&self, tried: &FinishedAttempt) {
        self.with_own(|share| share.record(tried));
    }

    /// Updates the TLS counters of the peer with `count`.
    pub(crate) fn tls(&self, count: impl FnOnce(&mut TlsCounts)) {
        self.with_own(|share| count(&mut share.tls));
    }

    /// Returns the sum of the counters of all threads.
    pub(crate) fn sum(&self) -> PeerTraffic {
        let mut sum = PeerTraffic::default();
        for share in self.0.iter().filter_map(OnceLock::get) {
            sum.add(&lock(share));
        }
        sum
    }

    /// Resets the counters of all threads.
    pub(crate) fn reset(&self) {
        self.0.iter().filter_map(OnceLock::get).for_each(|share| *lock(share) = PeerTraffic::default());
    }

    fn with_own(&self, change: impl FnOnce(&mut PeerTraffic)) {
        let share = self.0[SHARE.with(|share| *share)].get_or_init(Box::default);
        change(&mut lock(share));
    }
}

fn lock(share: &Mutex<PeerTraffic>) -> MutexGuard<'_, PeerTraffic> {
    share.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(response_ms: u64, answered: u16) -> FinishedAttempt {
        FinishedAttempt { sent: 10, received: 100, response_ms, head_status: answered }
    }

    #[test]
    fn peer_counts_are_recorded_per_thread_and_summed() {
        let counts = PeerCounts::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| counts.record(&tried(5, 200)));
            }
        });
        counts.record(&tried(6, 404));
        counts.record(&tried(20_000, 0));
        counts.record(&tried(20_000, 502));
        let sum = counts.sum();
        assert_eq!(sum.statuses, [(200, 20), (404, 1), (502, 1)]);
        assert_eq!((sum.classes(), sum.responses()), ([0, 20, 0, 1, 1], 22));
        assert_eq!((sum.sent, sum.received, sum.response_sum_ms), (230, 2300, 20_106));
        let mut times = [0; 15];
        (times[0], times[1], times[14]) = (20, 1, 1);
        assert_eq!(sum.response_times, times);
        counts.reset();
        assert_eq!(counts.sum(), PeerTraffic::default());
    }
}
