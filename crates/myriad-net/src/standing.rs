//! How a connection stands: whether anything is under way on it, and whom it waits for.
//!
//! Whoever needs a seat looks at this ([`crate::Seats`]); what a request pays for it is one store.

/// Bits that say which kind it is; the number of requests is above them.
const KIND_BITS: u32 = 2;
const IDLE: u32 = 1;
const STALLED: u32 = 2;

/// ```text
///          .------------- first byte of a request, an answer under way ------------.
///          v                                                                       |
///   Busy --+--> Idle      nothing was ever asked, or nothing since the last answer
///          '--> Stalled   the client owes bytes, or does not take what it is owed
/// ```
/// In one word: the tick since which it is so, the number of requests begun by then, the kind. The number of requests takes a
/// mark back by itself: `Idle` ends with the next request, and nobody has to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing(u64);

/// Whom a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Waiting {
    /// Nobody has asked for anything.
    Idle,
    /// The client owes the rest of a head or a body, or does not take an answer.
    Stalled,
}

impl Standing {
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

    /// Whom a connection waits for that has begun so many requests by now; nobody where it is busy.
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
            let idle = Standing::idle(u32::MAX, requests);
            assert_eq!((idle.waiting(requests), idle.since()), (Some(Waiting::Idle), u32::MAX));
            assert_eq!(idle.waiting(requests + 1), None);
            assert_eq!(Standing::stalled(5, requests).waiting(requests), Some(Waiting::Stalled));
            assert_eq!(Standing::BUSY.waiting(requests), None);
        }
    }
}
