//! The activity of a connection: whether anything is under way on it, and whom it waits for.
//!
//! [`crate::Seats`] closes connections by it where a newcomer needs a seat. A request pays one store for it.

/// Bits that say which kind it is; the number of requests is above them.
const KIND_BITS: u32 = 2;
const IDLE: u32 = 1;
const STALLED: u32 = 2;

/// The activity as one word.
///
/// ```text
///          .------------- first byte of a request, an answer under way ------------.
///          v                                                                       |
///   Busy --+--> Idle      nothing was ever asked, or nothing since the last answer
///          '--> Stalled   the client owes bytes, or does not take what it is owed
/// ```
/// The word holds the tick since which it is so, the number of requests begun by then, and the kind. `Idle` ends with the next
/// request by itself, because the number of requests is another then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity(u64);

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waiting {
    /// The client's next request.
    Idle,
    /// The client owes the rest of a head or a body, or does not take an answer.
    Stalled,
}

impl Activity {
    /// Something is under way.
    pub(crate) const BUSY: Self = Self(0);

    /// Nothing is under way since that tick, after so many requests.
    pub(crate) fn idle(tick: u32, requests: u32) -> Self {
        Self::new(tick, requests, IDLE)
    }

    /// The client is waited for since that tick.
    pub(crate) fn stalled(tick: u32, requests: u32) -> Self {
        Self::new(tick, requests, STALLED)
    }

    fn new(tick: u32, requests: u32, kind: u32) -> Self {
        Self(u64::from(tick) << 32 | u64::from(requests << KIND_BITS | kind))
    }

    /// What a connection waits for that has begun so many requests by now; none where it is busy.
    pub(crate) fn waiting(self, requests: u32) -> Option<Waiting> {
        match (self.0 as u32) ^ (requests << KIND_BITS) {
            IDLE => Some(Waiting::Idle),
            STALLED => Some(Waiting::Stalled),
            _ => None,
        }
    }

    /// The tick since which it is so.
    pub(crate) fn since(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_takes_the_mark_back_that_stood_before_it() {
        for requests in [0, 1, 7, u32::MAX >> KIND_BITS] {
            let idle = Activity::idle(u32::MAX, requests);
            assert_eq!((idle.waiting(requests), idle.since()), (Some(Waiting::Idle), u32::MAX));
            assert_eq!(idle.waiting(requests + 1), None);
            assert_eq!(Activity::stalled(5, requests).waiting(requests), Some(Waiting::Stalled));
            assert_eq!(Activity::BUSY.waiting(requests), None);
        }
    }
}
