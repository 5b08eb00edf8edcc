//! Detection of dead HTTP/2 connections: after a power failure, or after a firewall has dropped the state of a
//! connection, sent data is lost without an error.
//!
//! ```text
//!   reused connection, requests wait, silence ──1 s──▶ PING ──1 s of silence──▶ dead: repeatable requests are retried
//!   idle connection, silent for 5 s, new request ──▶ PING ──0.5 s of silence──▶ other connection; after 1 s: closed
//!   idle for the first time, connection reuse not configured ──▶ PING, as above
//! ```
//! Any received frame counts as a sign of life. While requests wait, a connection without a response so far is not
//! checked: `*_read_timeout` limits its silence. Times are in milliseconds and in the units of
//! [`clock::now`](crate::clock::now).

/// Time in milliseconds without a frame from the origin, while requests wait, before a PING is sent.
const SILENCE: u64 = 1000;

/// Maximum time in milliseconds without a frame after a PING, until the connection counts as dead. With [`SILENCE`],
/// a request that may be repeated is repeated after two seconds.
const PING_TIMEOUT: u64 = 1000;

/// Time in milliseconds that a new request waits for a frame after a PING before it uses another connection.
const WAIT: u64 = 500;

/// Time in milliseconds without a frame after which an idle connection is checked before a request is sent on it.
/// Firewalls store the state of a connection longer.
const MAX_IDLE_SILENCE: u64 = 5000;

/// Next action of the liveness check of an HTTP/2 connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LivenessAction {
    /// No action until a frame is received, a request is sent, or a PING is sent.
    Nothing,
    /// No action before this time, in the units of [`clock::now`](crate::clock::now).
    Wait(u64),
    /// A PING must be sent now.
    Ping,
    /// The connection is dead: no frame has been received in time after a PING.
    Dead,
}

/// State of an HTTP/2 connection for the detection of an origin that no longer responds.
#[derive(Debug)]
pub(super) struct Liveness {
    /// Time of the last received frame, or of the creation of the connection.
    last_frame: u64,
    /// Start of the current silence while requests wait for their responses; `None` if no request waits, or if no
    /// further PING is sent for the waiting requests.
    silent_since: Option<u64>,
    /// Time when the last PING was sent; `None` if a frame was received since, or none was sent.
    ping_sent_at: Option<u64>,
    /// True once a part of a response has been received.
    served: bool,
    /// True if frames without a part of a response were received after a PING: the origin reads further input.
    reads_on: bool,
    /// True if pieces of request bodies were sent since the last received frame. The pieces may fill buffers, and a
    /// PING would queue after them.
    uploads: bool,
    dead: bool,
}

impl Liveness {
    pub(super) fn new(now: u64) -> Self {
        Self {
            last_frame: now,
            silent_since: None,
            ping_sent_at: None,
            served: false,
            reads_on: false,
            uploads: false,
            dead: false,
        }
    }

    /// Records that a request was sent at `now`, which starts the measurement of silence unless it is running.
    pub(super) fn requested(&mut self, now: u64) {
        self.silent_since.get_or_insert(now);
    }

    /// Records a sent piece of a request body.
    pub(super) fn uploaded(&mut self) {
        self.uploads = true;
    }

    /// Records received frames. `is_answer` is true if they include a part of a response, `waits` if requests still
    /// have no part of their response.
    pub(super) fn frame_received(&mut self, now: u64, is_answer: bool, waits: bool) {
        let was_asked = self.ping_sent_at.take().is_some();
        self.last_frame = now;
        self.uploads = false;
        self.reads_on |= was_asked && !is_answer;
        self.served |= is_answer;
        // An origin that replies to a PING but is slow does not get another PING for the same requests.
        self.silent_since = (waits && (is_answer || !was_asked)).then_some(now);
    }

    /// Records that a PING was sent to the origin.
    pub(super) fn ping_sent(&mut self, now: u64) {
        self.ping_sent_at.get_or_insert(now);
    }

    /// Records that a PING was due but could not be sent: no further PING is sent for the requests that wait now.
    pub(super) fn ping_skipped(&mut self) {
        self.silent_since = None;
    }

    /// Marks the connection as dead, so that no further PING is sent.
    pub(super) fn give_up(&mut self) {
        self.dead = true;
    }

    /// Returns the next action of the liveness check at `now`, in the units of [`clock::now`](crate::clock::now).
    pub(super) fn next(&self, now: u64) -> LivenessAction {
        if self.dead {
            return LivenessAction::Nothing;
        }
        let (since, limit, then) = match (self.ping_sent_at, self.silent_since) {
            (Some(asked), _) => (asked, PING_TIMEOUT, LivenessAction::Dead),
            (None, Some(silent)) if self.is_watched() => (silent, SILENCE, LivenessAction::Ping),
            _ => return LivenessAction::Nothing,
        };
        if now >= since + limit { then } else { LivenessAction::Wait(since + limit) }
    }

    /// Returns whether a PING is sent when requests wait: not before the first response and not during an upload.
    pub(super) fn is_watched(&self) -> bool {
        self.served && !self.uploads
    }

    /// Returns the time until which a new request must wait for a frame after a PING; `None` if it need not wait.
    pub(super) fn holds_until(&self) -> Option<u64> {
        self.ping_sent_at.map(|asked| asked + WAIT)
    }

    /// Returns whether the connection has received no frame for [`MAX_IDLE_SILENCE`], so that it must be checked before
    /// its next use if it is idle.
    pub(super) fn is_old(&self, now: u64) -> bool {
        now.saturating_sub(self.last_frame) >= MAX_IDLE_SILENCE
    }

    /// Returns whether the origin is known to read further input after its first response; `requests` is the number of
    /// requests sent on the connection.
    pub(super) fn reads_on(&self, requests: u32) -> bool {
        self.reads_on || requests > 1
    }

    /// Returns whether new requests should use another connection, because this one may be dead.
    pub(super) fn is_suspect(&self, now: u64) -> bool {
        self.dead || self.holds_until().is_some_and(|until| now >= until)
    }

    /// Returns whether a part of a response has been received on the connection.
    pub(super) fn has_served(&self) -> bool {
        self.served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: u64 = 3_600_000;

    /// Returns the state of a connection after its first response.
    fn served() -> Liveness {
        let mut pulse = Liveness::new(MADE);
        pulse.requested(MADE);
        pulse.frame_received(MADE, true, false);
        pulse
    }

    #[test]
    fn silent_connection_is_pinged_after_one_second_and_dead_after_another() {
        let mut pulse = served();
        assert_eq!(pulse.next(MADE), LivenessAction::Nothing);
        pulse.requested(MADE + 10);
        pulse.requested(MADE + 900);
        assert_eq!(pulse.next(MADE + 1009), LivenessAction::Wait(MADE + 1010));
        assert_eq!(pulse.next(MADE + 1010), LivenessAction::Ping);
        pulse.ping_sent(MADE + 1010);
        assert_eq!(pulse.next(MADE + 2009), LivenessAction::Wait(MADE + 2010));
        assert_eq!(pulse.next(MADE + 2010), LivenessAction::Dead);
        pulse.give_up();
        assert_eq!(pulse.next(MADE + 9000), LivenessAction::Nothing);
        assert!(pulse.is_suspect(MADE + 9000));
    }

    #[test]
    fn a_fresh_connection_is_not_asked() {
        let mut pulse = Liveness::new(MADE);
        pulse.requested(MADE);
        pulse.frame_received(MADE + 5, false, true);
        assert_eq!(pulse.next(MADE + 60_000), LivenessAction::Nothing);
    }

    #[test]
    fn answered_ping_is_not_repeated_for_same_requests() {
        let mut pulse = served();
        pulse.requested(MADE);
        pulse.ping_sent(MADE + 1000);
        pulse.frame_received(MADE + 1001, false, true);
        assert_eq!(pulse.next(MADE + 60_000), LivenessAction::Nothing);
        pulse.requested(MADE + 60_000);
        assert_eq!(pulse.next(MADE + 61_000), LivenessAction::Ping);
    }

    #[test]
    fn other_answers_keep_a_connection_from_being_asked() {
        let mut pulse = served();
        pulse.requested(MADE);
        pulse.frame_received(MADE + 900, true, true);
        assert_eq!(pulse.next(MADE + 1800), LivenessAction::Wait(MADE + 1900));
        assert_eq!(pulse.next(MADE + 1900), LivenessAction::Ping);
    }

    #[test]
    fn bodies_on_their_way_are_no_silence() {
        let mut pulse = served();
        pulse.requested(MADE);
        pulse.uploaded();
        assert_eq!(pulse.next(MADE + 60_000), LivenessAction::Nothing);
        pulse.frame_received(MADE + 60_000, false, true);
        assert_eq!(pulse.next(MADE + 61_000), LivenessAction::Ping);
    }

    #[test]
    fn requests_wait_for_the_answer_of_an_idle_connection_for_half_a_second() {
        let mut pulse = served();
        assert!(!pulse.is_old(MADE + 4999) && pulse.is_old(MADE + 5000));
        assert_eq!(pulse.holds_until(), None);
        pulse.ping_sent(MADE + 5000);
        assert_eq!(pulse.holds_until(), Some(MADE + 5500));
        assert!(!pulse.is_suspect(MADE + 5499) && pulse.is_suspect(MADE + 5500));
        pulse.frame_received(MADE + 5600, false, false);
        assert!(!pulse.is_suspect(MADE + 5600) && !pulse.is_old(MADE + 5600));
    }

    #[test]
    fn an_answer_to_the_question_or_to_a_second_request_shows_that_it_reads_on() {
        let mut pulse = served();
        assert!(!pulse.reads_on(1) && pulse.reads_on(2));
        pulse.ping_sent(MADE);
        pulse.frame_received(MADE + 1, false, false);
        assert!(pulse.reads_on(1));
    }
}
