//! The arrival of an origin's response.

use myriad_net::clock;
use myriad_policy::Admission;

/// When the head of a response came.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// The time, milliseconds of the process clock.
    pub now: u64,
    /// How long it took, milliseconds.
    pub delay_ms: u64,
}

impl Arrival {
    /// Returns the decision of `judge` with the lifetime converted to the process clock. `judge` compares dates of another machine, so it
    /// gets the time of arrival by the system clock, and how far that clock is ahead of the process clock, milliseconds.
    pub(crate) fn judged(self, judge: impl FnOnce(u64, i64) -> Admission) -> Admission {
        let ahead_ms = clock::ahead_ms();
        match judge(self.now.saturating_add_signed(ahead_ms), ahead_ms) {
            Admission::Store(lifetime) => Admission::Store(lifetime.shifted(-ahead_ms)),
            refused @ Admission::Refuse(_) => refused,
        }
    }
}
