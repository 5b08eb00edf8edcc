//! Whether the other end of a connection lives. A firewall that forgets a connection, or a machine that loses its power, says nothing:
//! what is sent from then on is lost in silence.
//!
//! ```text
//!   a kept connection, requests wait, silence ──1 s──▶ asked (PING) ──1 s of silence──▶ dead: what may be repeated goes elsewhere
//!   an idle connection, silent for 5 s, a request comes ──▶ asked ──0.5 s of silence──▶ the request has another; 1 s: closed
//!   idle for the first time, where no `upstream` says that connections are kept ──▶ asked, and as above
//! ```
//! Whatever comes is an answer. A fresh connection is not asked: its silence is what `*_read_timeout` is for. Times are those of this
//! process's clock, milliseconds.

/// Longest silence while requests wait before the origin is asked: few answers take longer, so few are asked for.
const SILENCE: u64 = 1000;

/// Longest silence of an origin that was asked: several times the longest way around the world. With [`SILENCE`] it is two seconds
/// until a request is repeated, which most visitors wait.
const ANSWER: u64 = 1000;

/// How long a request that has not been sent waits for the answer, before it has another connection.
const WAIT: u64 = 500;

/// After so long a silence an idle connection is asked before a request is trusted to it. Firewalls forget none earlier.
const TRUST: u64 = 5000;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing, until something is sent or comes.
    Nothing,
    /// Nothing before this time.
    Wait(u64),
    /// The origin is to be asked.
    Ask,
    /// Nothing comes any more.
    Dead,
}

/// What is known of it.
#[derive(Debug)]
pub(super) struct Pulse {
    /// When something came last, or the connection was made.
    heard: u64,
    /// Since when requests have waited for their answers without a byte from the origin.
    silent_since: Option<u64>,
    asked: Option<u64>,
    /// A request has been answered.
    served: bool,
    /// It has shown that it reads on after it has answered all there was.
    reads_on: bool,
    /// Bodies have been sent since something came. They may fill buffers, and questions would wait behind them.
    uploads: bool,
    dead: bool,
}

impl Pulse {
    pub(super) fn new(now: u64) -> Self {
        Self {
            heard: now,
            silent_since: None,
            asked: None,
            served: false,
            reads_on: false,
            uploads: false,
            dead: false,
        }
    }

    /// A request was sent.
    pub(super) fn requested(&mut self, now: u64) {
        self.silent_since.get_or_insert(now);
    }

    /// A piece of a request body was sent.
    pub(super) fn uploaded(&mut self) {
        self.uploads = true;
    }

    /// Frames came: some of an answer to a request, or others alone. `waits` says that requests still wait for an answer.
    pub(super) fn heard(&mut self, now: u64, is_answer: bool, waits: bool) {
        let was_asked = self.asked.take().is_some();
        self.heard = now;
        self.uploads = false;
        self.reads_on |= was_asked && !is_answer;
        self.served |= is_answer;
        // One that lives and takes its time is not asked again for the same requests.
        self.silent_since = (waits && (is_answer || !was_asked)).then_some(now);
    }

    /// The question was sent.
    pub(super) fn asked(&mut self, now: u64) {
        self.asked.get_or_insert(now);
    }

    /// The question could not be sent.
    pub(super) fn leave(&mut self) {
        self.silent_since = None;
    }

    /// It is dead, and is not asked again.
    pub(super) fn give_up(&mut self) {
        self.dead = true;
    }

    /// What is to be done about a connection on which requests are under way, or none.
    pub(super) fn next(&self, now: u64) -> Next {
        if self.dead {
            return Next::Nothing;
        }
        let (since, limit, then) = match (self.asked, self.silent_since) {
            (Some(asked), _) => (asked, ANSWER, Next::Dead),
            (None, Some(silent)) if self.is_watched() => (silent, SILENCE, Next::Ask),
            _ => return Next::Nothing,
        };
        if now >= since + limit { then } else { Next::Wait(since + limit) }
    }

    /// Whether requests that go unanswered have the origin asked.
    pub(super) fn is_watched(&self) -> bool {
        self.served && !self.uploads
    }

    /// Whether a request must wait for a sign of life before it is sent, and until when.
    pub(super) fn holds_until(&self) -> Option<u64> {
        self.asked.map(|asked| asked + WAIT)
    }

    /// Whether an idle connection has been silent for too long to be trusted.
    pub(super) fn is_old(&self, now: u64) -> bool {
        now.saturating_sub(self.heard) >= TRUST
    }

    /// Whether it has ever read on after it had answered, as far as is known; `requests` were sent on it and answered.
    pub(super) fn reads_on(&self, requests: u32) -> bool {
        self.reads_on || requests > 1
    }

    /// Whether no request should be put on it for now.
    pub(super) fn is_suspect(&self, now: u64) -> bool {
        self.dead || self.holds_until().is_some_and(|until| now >= until)
    }

    /// Whether a request has been answered on it.
    pub(super) fn has_served(&self) -> bool {
        self.served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MADE: u64 = 3_600_000;

    /// A connection that has answered its first request.
    fn served() -> Pulse {
        let mut pulse = Pulse::new(MADE);
        pulse.requested(MADE);
        pulse.heard(MADE, true, false);
        pulse
    }

    #[test]
    fn a_kept_connection_is_asked_after_a_second_and_dead_after_another() {
        let mut pulse = served();
        assert_eq!(pulse.next(MADE), Next::Nothing);
        pulse.requested(MADE + 10);
        pulse.requested(MADE + 900);
        assert_eq!(pulse.next(MADE + 1009), Next::Wait(MADE + 1010));
        assert_eq!(pulse.next(MADE + 1010), Next::Ask);
        pulse.asked(MADE + 1010);
        assert_eq!(pulse.next(MADE + 2009), Next::Wait(MADE + 2010));
        assert_eq!(pulse.next(MADE + 2010), Next::Dead);
        pulse.give_up();
        assert_eq!(pulse.next(MADE + 9000), Next::Nothing);
        assert!(pulse.is_suspect(MADE + 9000));
    }

    #[test]
    fn a_fresh_connection_is_not_asked() {
        let mut pulse = Pulse::new(MADE);
        pulse.requested(MADE);
        pulse.heard(MADE + 5, false, true);
        assert_eq!(pulse.next(MADE + 60_000), Next::Nothing);
    }

    #[test]
    fn whoever_answers_the_question_is_not_asked_again_for_the_same_requests() {
        let mut pulse = served();
        pulse.requested(MADE);
        pulse.asked(MADE + 1000);
        pulse.heard(MADE + 1001, false, true);
        assert_eq!(pulse.next(MADE + 60_000), Next::Nothing);
        pulse.requested(MADE + 60_000);
        assert_eq!(pulse.next(MADE + 61_000), Next::Ask);
    }

    #[test]
    fn other_answers_keep_a_connection_from_being_asked() {
        let mut pulse = served();
        pulse.requested(MADE);
        pulse.heard(MADE + 900, true, true);
        assert_eq!(pulse.next(MADE + 1800), Next::Wait(MADE + 1900));
        assert_eq!(pulse.next(MADE + 1900), Next::Ask);
    }

    #[test]
    fn bodies_on_their_way_are_no_silence() {
        let mut pulse = served();
        pulse.requested(MADE);
        pulse.uploaded();
        assert_eq!(pulse.next(MADE + 60_000), Next::Nothing);
        pulse.heard(MADE + 60_000, false, true);
        assert_eq!(pulse.next(MADE + 61_000), Next::Ask);
    }

    #[test]
    fn requests_wait_for_the_answer_of_an_idle_connection_for_half_a_second() {
        let mut pulse = served();
        assert!(!pulse.is_old(MADE + 4999) && pulse.is_old(MADE + 5000));
        assert_eq!(pulse.holds_until(), None);
        pulse.asked(MADE + 5000);
        assert_eq!(pulse.holds_until(), Some(MADE + 5500));
        assert!(!pulse.is_suspect(MADE + 5499) && pulse.is_suspect(MADE + 5500));
        pulse.heard(MADE + 5600, false, false);
        assert!(!pulse.is_suspect(MADE + 5600) && !pulse.is_old(MADE + 5600));
    }

    #[test]
    fn an_answer_to_the_question_or_to_a_second_request_shows_that_it_reads_on() {
        let mut pulse = served();
        assert!(!pulse.reads_on(1) && pulse.reads_on(2));
        pulse.asked(MADE);
        pulse.heard(MADE + 1, false, false);
        assert!(pulse.reads_on(1));
    }
}
