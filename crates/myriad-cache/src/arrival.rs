//! Time at which an origin's response arrived.

use myriad_net::clock;
use myriad_policy::Admission;

/// Arrival of a response head.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// Time of arrival, in milliseconds of the process clock.
    pub now: u64,
    /// Time from the request to the arrival, in milliseconds.
    pub delay_ms: u64,
}

impl Arrival {
    /// Returns the decision of `judge` with its lifetime converted to the process clock.
    ///
    /// `judge` compares dates that another machine wrote. It therefore receives the time of arrival by the system
    /// clock, and the difference between the system clock and the process clock, in milliseconds.
    pub(crate) fn judged(self, judge: impl FnOnce(u64, i64) -> Admission) -> Admission {
        let ahead_ms = clock::ahead_ms();
        match judge(self.now.saturating_add_signed(ahead_ms), ahead_ms) {
            Admission::Store(lifetime) => Admission::Store(lifetime.shifted(-ahead_ms)),
            refused @ Admission::Refuse(_) => refused,
        }
    }
}
