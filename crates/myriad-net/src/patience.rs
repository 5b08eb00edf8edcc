//! How long a client is waited for: until it is silent for too long, or slower than `client_min_rate` allows.
//!
//! Time counts only while the client is what is waited for: an origin that is slow, a rate that holds an answer back, an idle
//! connection cost it nothing. A client that never has to be waited for is not measured at all.

use std::task::{Context, Poll};

use crate::clock::monotonic_ms;
use crate::deadline::Deadline;
use crate::pressure;

/// `client_min_rate`: what a client has to move at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinRate {
    /// Bytes a second; 0 for none.
    pub bytes_per_second: u32,
    /// The rate holds of each stretch of so many milliseconds in which the client was waited for.
    pub grace_ms: u32,
    /// Whether the rate holds only while the worker has more than three quarters of its connections.
    pub under_pressure: bool,
}

impl MinRate {
    /// Whether so many bytes in all that time are too few.
    pub(crate) fn is_missed(self, moved: u64, waited_ms: u64) -> bool {
        self.bytes_per_second > 0
            && waited_ms >= u64::from(self.grace_ms)
            && moved.saturating_mul(1000) < u64::from(self.bytes_per_second).saturating_mul(waited_ms)
            && (!self.under_pressure || pressure::is_on())
    }

    /// No rate: a client may be as slow as it likes.
    pub const NONE: Self = Self { bytes_per_second: 0, grace_ms: 0, under_pressure: false };
}

/// What a client is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The longest silence, milliseconds, 0 for any.
    pub(crate) silence_ms: u64,
    pub(crate) rate: MinRate,
}

impl Default for Terms {
    /// The terms until a request has been routed.
    fn default() -> Self {
        Self { silence_ms: 60_000, rate: MinRate::NONE }
    }
}

/// Why a client is waited for no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lapse {
    /// Nothing moved for too long.
    Silent,
    /// Too little did.
    Slow,
}

/// Asks how many bytes the client has had in all: what is written is not yet taken.
pub(crate) type Taken<'a> = &'a dyn Fn() -> Option<u64>;

/// Nothing is known but what was read or written.
pub(crate) const AS_MOVED: Taken<'static> = &|| None;

/// One direction of one exchange.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// Since when nothing has moved; none while the client is not waited for.
    silent_since: Option<u64>,
    /// Since when the wait under way is not in `waited_ms`.
    counted_until: u64,
    /// How long the client was waited for in this stretch.
    waited_ms: u64,
    /// Bytes that moved in it.
    moved: u64,
    /// What the client had taken when the stretch began.
    taken: Mark,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mark {
    /// Nobody has been asked.
    #[default]
    Unasked,
    /// Nobody knows.
    Unknown,
    Known(u64),
}

impl Patience {
    /// The client is waited for. Ready once it has been for too long; `deadline` belongs to this.
    pub(crate) fn poll(
        &mut self,
        deadline: &Deadline,
        terms: Terms,
        taken: Taken<'_>,
        cx: &Context<'_>,
    ) -> Poll<Lapse> {
        if self.silent_since.is_none() {
            let now = monotonic_ms();
            self.begin(now);
            deadline.set(self.alarm_ms(now, terms));
        }
        if deadline.poll_expired(cx).is_pending() {
            return Poll::Pending;
        }
        let now = monotonic_ms();
        if let Some(lapse) = self.lapse(now, terms, taken) {
            return Poll::Ready(lapse);
        }
        deadline.set(self.alarm_ms(now, terms));
        deadline.poll_expired(cx).map(|()| Lapse::Silent)
    }

    /// Whether the client is waited for.
    pub(crate) fn is_waiting(&self) -> bool {
        self.silent_since.is_some()
    }

    /// Notes that so many bytes have moved and the client is not waited for any more. True where that was too little.
    pub(crate) fn moved(&mut self, bytes: u64, deadline: &Deadline, rate: MinRate, taken: Taken<'_>) -> bool {
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

    fn end(&mut self, now: u64, rate: MinRate, taken: Taken<'_>) -> bool {
        self.count(now);
        self.silent_since = None;
        self.is_below(rate, taken)
    }

    fn count(&mut self, now: u64) {
        self.waited_ms += now.saturating_sub(self.counted_until);
        self.counted_until = now;
    }

    fn lapse(&mut self, now: u64, terms: Terms, taken: Taken<'_>) -> Option<Lapse> {
        let silent = self.silent_since.map_or(0, |since| now.saturating_sub(since));
        if terms.silence_ms > 0 && silent >= terms.silence_ms {
            return Some(Lapse::Silent);
        }
        self.count(now);
        self.is_below(terms.rate, taken).then_some(Lapse::Slow)
    }

    /// Judges the stretch if it is over, and begins the next.
    ///
    /// What has been written may lie in buffers of the kernel, megabytes of them, while the client takes it as slowly as it does.
    /// So where the kernel knows, the stretch begins once it has been asked, a quarter of the grace after the first wait: hardly
    /// any client comes to that.
    fn is_below(&mut self, rate: MinRate, taken: Taken<'_>) -> bool {
        if rate.bytes_per_second == 0 || self.waited_ms < self.stretch_ms(rate) {
            return false;
        }
        let before = self.taken;
        self.taken = taken().map_or(Mark::Unknown, Mark::Known);
        let waited = self.waited_ms;
        let moved = match (before, self.taken) {
            (Mark::Unasked, Mark::Known(_)) => {
                (self.waited_ms, self.moved) = (0, 0);
                return false;
            }
            (Mark::Unasked, _) if waited < u64::from(rate.grace_ms) => return false,
            (Mark::Known(before), Mark::Known(now)) => now.saturating_sub(before),
            _ => self.moved,
        };
        (self.waited_ms, self.moved) = (0, 0);
        rate.is_missed(moved, waited)
    }

    /// How long a stretch lasts until something is to be asked.
    fn stretch_ms(&self, rate: MinRate) -> u64 {
        let grace = u64::from(rate.grace_ms);
        if self.taken == Mark::Unasked { grace / 4 } else { grace }
    }

    /// When to look again, milliseconds from now; 0 for never.
    fn alarm_ms(&self, now: u64, terms: Terms) -> u64 {
        let silent = self.silent_since.map_or(0, |since| now.saturating_sub(since));
        let silence = (terms.silence_ms > 0).then(|| terms.silence_ms.saturating_sub(silent).max(1));
        let rated = terms.rate.bytes_per_second > 0;
        let judged = rated.then(|| self.stretch_ms(terms.rate).saturating_sub(self.waited_ms).max(1));
        silence.into_iter().chain(judged).min().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: MinRate = MinRate { bytes_per_second: 100, grace_ms: 1000, under_pressure: false };

    /// Waits of so many milliseconds, each ended by so many bytes; after how many the client is too slow.
    fn ended_by(waits: &[(u64, u64)], taken: Taken<'_>) -> Option<usize> {
        let mut patience = Patience::default();
        let mut now = 0;
        waits.iter().position(|(wait, bytes)| {
            patience.begin(now);
            now += wait;
            patience.moved += bytes;
            let below = patience.end(now, RATE, taken);
            // Whatever the server does meanwhile is not the client's time.
            now += 10_000;
            below
        })
    }

    #[test]
    fn who_moves_too_little_is_found_out_at_the_end_of_a_stretch() {
        assert_eq!(ended_by(&[(500, 1); 9], AS_MOVED), Some(1));
        assert_eq!(ended_by(&[(500, 50); 9], AS_MOVED), None);
        // What came in an earlier stretch is no credit.
        assert_eq!(ended_by(&[(1000, 1_000_000), (500, 1), (500, 1)], AS_MOVED), Some(2));
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
        assert_eq!(ended_by(&[(500, 0); 9], &taken(100)), None);
        // The first look says where the stretch begins.
        assert_eq!(ended_by(&[(500, 1_000_000); 9], &taken(10)), Some(2));
    }

    #[test]
    fn silence_has_its_own_time() {
        let mut patience = Patience::default();
        patience.begin(0);
        let terms = Terms { silence_ms: 700, rate: MinRate::NONE };
        assert_eq!((patience.alarm_ms(0, terms), patience.lapse(699, terms, AS_MOVED)), (700, None));
        assert_eq!(patience.lapse(700, terms, AS_MOVED), Some(Lapse::Silent));
        let never = Terms { silence_ms: 0, rate: MinRate::NONE };
        assert_eq!((patience.alarm_ms(0, never), patience.lapse(u64::MAX, never, AS_MOVED)), (0, None));
    }

    #[test]
    fn a_rate_for_pressure_ends_nobody_without_it() {
        let mut patience = Patience::default();
        let rate = MinRate { under_pressure: true, ..RATE };
        patience.begin(0);
        assert!(!patience.end(1000, rate, AS_MOVED));
        let seats = crate::Seats::new(1);
        let seat = seats.take();
        patience.begin(1000);
        assert!(patience.end(2000, rate, AS_MOVED));
        drop(seat);
    }
}
