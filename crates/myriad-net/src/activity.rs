//! Activity of a connection: idle, busy, or stalled by its client.
//!
//! [`crate::ConnectionLimiter`] reads the activity to select the connections to evict when a new connection needs a
//! slot. Recording a change costs one store; the start of a request costs no store, because the request counter is
//! updated anyway.

/// Number of low bits of [`Activity`] that encode its kind (busy, idle or stalled); the number of requests is stored in
/// the next higher bits.
const KIND_BITS: u32 = 2;
const IDLE: u32 = 1;
const STALLED: u32 = 2;

/// Kind of activity of a connection (busy, idle or stalled) and the time since when it applies, packed into one word.
///
/// ```text
///          .-------- first byte of a request, response in progress ----------------.
///          v                                                                       |
///   Busy --+--> Idle      no request yet, or no request since the last response
///          '--> Stalled   the client has not sent the rest of a request, or does not read the response
/// ```
/// Layout: the tick of the last change, the number of requests started by then, and the kind. The next request cancels
/// `Idle` or `Stalled` without a store, because the number of requests no longer matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Activity(u64);

/// Client event that a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AwaitedEvent {
    /// The client is expected to send its next request.
    Idle,
    /// The client is expected to send the rest of a request head or body, or to read a response.
    Stalled,
}

impl Activity {
    /// A request or response is in progress and does not wait for the client.
    pub(crate) const BUSY: Self = Self(0);

    /// Returns the activity of a connection that has been idle since `tick`, after `requests` requests.
    pub(crate) fn idle(tick: u32, requests: u32) -> Self {
        Self::new(tick, requests, IDLE)
    }

    /// Returns the activity of a connection that has waited for its client since `tick`, during request number
    /// `requests`.
    pub(crate) fn stalled(tick: u32, requests: u32) -> Self {
        Self::new(tick, requests, STALLED)
    }

    fn new(tick: u32, requests: u32, kind: u32) -> Self {
        Self(u64::from(tick) << 32 | u64::from(requests << KIND_BITS | kind))
    }

    /// Returns the event that the connection waits for; `None` if it is busy or a request has started since. `requests`
    /// is the current number of requests started on the connection.
    pub(crate) fn awaited_event(self, requests: u32) -> Option<AwaitedEvent> {
        match (self.0 as u32) ^ (requests << KIND_BITS) {
            IDLE => Some(AwaitedEvent::Idle),
            STALLED => Some(AwaitedEvent::Stalled),
            _ => None,
        }
    }

    /// Returns the tick of the last change; 0 for [`Self::BUSY`].
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
            assert_eq!((idle.awaited_event(requests), idle.since()), (Some(AwaitedEvent::Idle), u32::MAX));
            assert_eq!(idle.awaited_event(requests + 1), None);
            assert_eq!(Activity::stalled(5, requests).awaited_event(requests), Some(AwaitedEvent::Stalled));
            assert_eq!(Activity::BUSY.awaited_event(requests), None);
        }
    }
}
