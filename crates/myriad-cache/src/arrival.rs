//! Arrival of an origin's response, as input of cache decisions.

use myriad_net::clock;
use myriad_policy::Admission;

/// Time at which the head of an origin's response arrived, and the time that had passed since the request.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// Time of the arrival on the process clock, in milliseconds since the epoch.
    pub now: u64,
    /// Time from the request to the origin until the arrival, in milliseconds.
    pub delay_ms: u64,
}

impl Arrival {
    /// Calls `judge` and returns its decision, with a lifetime converted from the system clock to the process clock.
    ///
    /// `judge` compares dates in the response with the system clock. Its arguments, in milliseconds, are the time of
    /// arrival on the system clock, and by how much the system clock is ahead of the process clock.
    pub(crate) fn judged(self, judge: impl FnOnce(u64, i64) -> Admission) -> Admission {
        let ahead_ms = clock::ahead_ms();
        match judge(self.now.saturating_add_signed(ahead_ms), ahead_ms) {
            Admission::Store(lifetime) => Admission::Store(lifetime.shifted(-ahead_ms)),
            refused @ Admission::Refuse(_) => refused,
        }
    }
}
