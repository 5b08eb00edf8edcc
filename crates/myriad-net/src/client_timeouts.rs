//! Time limits of waiting for a client: the maximum silence and the minimum transfer rate (`client_min_rate`).
//!
//! Only the time during which the server waits for the client counts. Time spent on a slow origin, on a rate limit of
//! the response or on an idle connection does not count.

use std::task::{Context, Poll};

use crate::clock::monotonic_ms;
use crate::deadline::Deadline;
use crate::pressure;

/// Minimum transfer rate of a client (`client_min_rate`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinRate {
    /// Bytes per second; 0 disables the limit.
    pub bytes_per_second: u32,
    /// Length of a measurement interval, in milliseconds of waiting for the client. The rate is checked at the end of
    /// each interval.
    pub grace_ms: u32,
    /// If true, the rate is enforced only under pressure: more than three quarters of the worker's connections are in
    /// use, or memory is short.
    pub under_pressure: bool,
}

impl MinRate {
    /// Returns true if `moved` bytes in `waited_ms` milliseconds are below the minimum rate. False if the limit is
    /// disabled, if `waited_ms` is below `grace_ms`, and with `under_pressure` while there is no pressure.
    pub(crate) fn is_below_rate(self, moved: u64, waited_ms: u64) -> bool {
        self.bytes_per_second > 0
            && waited_ms >= u64::from(self.grace_ms)
            && moved.saturating_mul(1000) < u64::from(self.bytes_per_second).saturating_mul(waited_ms)
            && (!self.under_pressure || pressure::is_on())
    }

    /// Value that disables the minimum rate.
    pub const NONE: Self = Self { bytes_per_second: 0, grace_ms: 0, under_pressure: false };
}

/// Limits that apply to one wait for a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientTimeLimits {
    /// Maximum time in milliseconds without a byte from or to the client; 0 for no limit.
    pub(crate) silence_ms: u64,
    pub(crate) rate: MinRate,
}

impl Default for ClientTimeLimits {
    /// Returns the limits that apply until a request has been routed: 60 seconds of silence, no minimum rate.
    fn default() -> Self {
        Self { silence_ms: 60_000, rate: MinRate::NONE }
    }
}

/// Limit that was exceeded while waiting for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutReason {
    /// No byte was transferred within the time limit of the wait.
    Idle,
    /// The transfer was slower than the minimum rate.
    BelowMinRate,
}

/// Function that returns the total number of bytes that the client's kernel has acknowledged on the connection; `None`
/// if the number is unknown. It can be less than the number of bytes written.
pub(crate) type AckedBytes<'a> = &'a dyn Fn() -> Option<u64>;

/// Function for transfers without acknowledgement counts: the rate is computed from the bytes read or written instead.
pub(crate) const AS_MOVED: AckedBytes<'static> = &|| None;

/// Measured waiting time and bytes of one direction of an exchange, or of an HTTP/2 connection.
#[derive(Debug, Default)]
pub(crate) struct ClientTimeouts {
    /// Start of the current wait for the client, in milliseconds since boot; `None` while the server does not wait for
    /// the client.
    silent_since: Option<u64>,
    /// Time up to which the current wait is included in `waited_ms`, in milliseconds since boot.
    counted_until: u64,
    /// Milliseconds spent waiting for the client in the current measurement interval.
    waited_ms: u64,
    /// Bytes transferred in the current measurement interval.
    moved: u64,
    /// Total number of bytes acknowledged by the client at the start of the measurement interval.
    taken: AckMark,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckMark {
    /// The number of acknowledged bytes has not been queried yet.
    #[default]
    Unasked,
    /// The kernel does not report the number of acknowledged bytes.
    Unknown,
    Known(u64),
}

impl ClientTimeouts {
    /// Polls a wait for the client: pending while it lasts, ready with the limit that was exceeded. The first call, and
    /// the first after each [`Self::record_transfer`], starts the wait. `deadline` must not be used for anything else.
    pub(crate) fn poll(
        &mut self,
        deadline: &Deadline,
        terms: ClientTimeLimits,
        taken: AckedBytes<'_>,
        cx: &Context<'_>,
    ) -> Poll<TimeoutReason> {
        if self.silent_since.is_none() {
            let now = monotonic_ms();
            self.begin(now);
            deadline.set(self.next_check_in_ms(now, terms));
        }
        if deadline.poll_expired(cx).is_pending() {
            return Poll::Pending;
        }
        let now = monotonic_ms();
        if let Some(lapse) = self.check_timeout(now, terms, taken) {
            return Poll::Ready(lapse);
        }
        deadline.set(self.next_check_in_ms(now, terms));
        deadline.poll_expired(cx).map(|()| TimeoutReason::Idle)
    }

    /// Returns true while the server waits for the client.
    pub(crate) fn is_waiting(&self) -> bool {
        self.silent_since.is_some()
    }

    /// Records a transfer of `bytes` bytes, which finishes the wait for the client. Returns true if a measurement
    /// interval is complete and the client was slower than `rate` in it. False if `rate` is disabled or applies only
    /// under pressure and there is none, and if the server was not waiting for the client.
    pub(crate) fn record_transfer(
        &mut self,
        bytes: u64,
        deadline: &Deadline,
        rate: MinRate,
        taken: AckedBytes<'_>,
    ) -> bool {
        self.moved += bytes;
        if self.silent_since.is_none() {
            return false;
        }
        deadline.clear();
        self.end(monotonic_ms(), rate, taken)
    }

    fn begin(&mut self, now: u64) {
        self.silent_since = Some(now);
        self.counted_until = now;
    }

    fn end(&mut self, now: u64, rate: MinRate, taken: AckedBytes<'_>) -> bool {
        self.count(now);
        self.silent_since = None;
        self.is_below(rate, taken)
    }

    fn count(&mut self, now: u64) {
        self.waited_ms += now.saturating_sub(self.counted_until);
        self.counted_until = now;
    }

    fn check_timeout(
        &mut self,
        now: u64,
        terms: ClientTimeLimits,
        taken: AckedBytes<'_>,
    ) -> Option<TimeoutReason> {
        let silent = self.silent_since.map_or(0, |since| now.saturating_sub(since));
        if terms.silence_ms > 0 && silent >= terms.silence_ms {
            return Some(TimeoutReason::Idle);
        }
        self.count(now);
        self.is_below(terms.rate, taken).then_some(TimeoutReason::BelowMinRate)
    }

    /// Checks the rate if the interval is complete, and starts the next interval. Returns true if the client is too
    /// slow.
    ///
    /// Megabytes of written bytes can be in kernel buffers while the client reads slowly. If the kernel reports
    /// acknowledged bytes, the first interval therefore starts with the first query of that number, after a quarter of
    /// `grace_ms`. Few clients wait that long, so most cost no query.
    fn is_below(&mut self, rate: MinRate, taken: AckedBytes<'_>) -> bool {
        if rate.bytes_per_second == 0 || self.waited_ms < self.rate_check_in_ms(rate) {
            return false;
        }
        let before = self.taken;
        self.taken = taken().map_or(AckMark::Unknown, AckMark::Known);
        let waited = self.waited_ms;
        let moved = match (before, self.taken) {
            (AckMark::Unasked, AckMark::Known(_)) => {
                (self.waited_ms, self.moved) = (0, 0);
                return false;
            }
            (AckMark::Unasked, _) if waited < u64::from(rate.grace_ms) => return false,
            (AckMark::Known(before), AckMark::Known(now)) => now.saturating_sub(before),
            _ => self.moved,
        };
        (self.waited_ms, self.moved) = (0, 0);
        rate.is_below_rate(moved, waited)
    }

    /// Returns the waiting time after which the rate is checked next, in milliseconds from the start of the interval.
    fn rate_check_in_ms(&self, rate: MinRate) -> u64 {
        let grace = u64::from(rate.grace_ms);
        if self.taken == AckMark::Unasked { grace / 4 } else { grace }
    }

    /// Returns the milliseconds until the next check of silence or rate; 0 if neither is limited.
    fn next_check_in_ms(&self, now: u64, terms: ClientTimeLimits) -> u64 {
        let silent = self.silent_since.map_or(0, |since| now.saturating_sub(since));
        let silence = (terms.silence_ms > 0).then(|| terms.silence_ms.saturating_sub(silent).max(1));
        let rated = terms.rate.bytes_per_second > 0;
        let judged = rated.then(|| self.rate_check_in_ms(terms.rate).saturating_sub(self.waited_ms).max(1));
        silence.into_iter().chain(judged).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: MinRate = MinRate { bytes_per_second: 100, grace_ms: 1000, under_pressure: false };

    /// Simulates waits of the given milliseconds, each followed by a transfer of the given bytes. Returns the index of
    /// the wait at which the client is too slow.
    fn timed_out_at(waits: &[(u64, u64)], taken: AckedBytes<'_>) -> Option<usize> {
        let mut patience = ClientTimeouts::default();
        let mut now = 0;
        waits.iter().position(|(wait, bytes)| {
            patience.begin(now);
            now += wait;
            patience.moved += bytes;
            let below = patience.end(now, RATE, taken);
            // The server's own processing time does not count.
            now += 10_000;
            below
        })
    }

    #[test]
    fn slow_client_is_detected_after_each_interval() {
        assert_eq!(timed_out_at(&[(500, 1); 9], AS_MOVED), Some(1));
        assert_eq!(timed_out_at(&[(500, 50); 9], AS_MOVED), None);
        // Bytes of an earlier interval do not count for the next.
        assert_eq!(timed_out_at(&[(1000, 1_000_000), (500, 1), (500, 1)], AS_MOVED), Some(2));
    }

    #[test]
    fn what_the_client_has_taken_counts_where_it_is_known() {
        let (written, had) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let taken = |each: u64| {
            let (written, had) = (&written, &had);
            move || {
                written.set(written.get() + 1);
                had.set(had.get() + each);
                Some(had.get())
            }
        };
        assert_eq!(timed_out_at(&[(500, 0); 9], &taken(100)), None);
        // The first query starts the interval.
        assert_eq!(timed_out_at(&[(500, 1_000_000); 9], &taken(10)), Some(2));
    }

    #[test]
    fn silence_has_its_own_time() {
        let mut patience = ClientTimeouts::default();
        patience.begin(0);
        let terms = ClientTimeLimits { silence_ms: 700, rate: MinRate::NONE };
        assert_eq!(
            (patience.next_check_in_ms(0, terms), patience.check_timeout(699, terms, AS_MOVED)),
            (700, None)
        );
        assert_eq!(patience.check_timeout(700, terms, AS_MOVED), Some(TimeoutReason::Idle));
        let never = ClientTimeLimits { silence_ms: 0, rate: MinRate::NONE };
        assert_eq!(
            (patience.next_check_in_ms(0, never), patience.check_timeout(u64::MAX, never, AS_MOVED)),
            (0, None)
        );
    }

    #[test]
    fn pressure_rate_closes_no_connection_without_pressure() {
        let mut patience = ClientTimeouts::default();
        let rate = MinRate { under_pressure: true, ..RATE };
        patience.begin(0);
        assert!(!patience.end(1000, rate, AS_MOVED));
        let limiter = crate::ConnectionLimiter::new(1);
        let slot = limiter.take_slot();
        patience.begin(1000);
        assert!(patience.end(2000, rate, AS_MOVED));
        drop(slot);
    }
}
