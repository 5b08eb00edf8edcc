//! Waiting of a connection without progress: for requests, heads, and clients that read the written bytes.

use std::task::{Context, Poll};

use myriad_http::h2::ErrorCode;

use super::{Clock, Driver, End, PARTING_MS};
use crate::h2::exchange::{Exchange, Stage};
use crate::patience::{AS_MOVED, Lapse, Terms};
use crate::service::Service;

/// Minimum time in milliseconds to wait for the rest of an unused body before its stream is reset: a client that is
/// about to finish it gets no reset.
const TAILS_MS: u64 = 1000;

impl<S: Service> Driver<S> {
    /// Resets the streams whose clients keep their windows closed for too long or open them too slowly. Returns whether
    /// there were any.
    pub(super) fn reset_stalled(&mut self, cx: &mut Context<'_>) -> bool {
        let mut stalled = Vec::new();
        for exchange in &mut self.exchanges {
            let Stage::Sending(sending) = &exchange.stage else { continue };
            let is_shut = self.codec.is_stalled(exchange.stream);
            if !is_shut && exchange.stalled.is_none() {
                continue;
            }
            let sent = self.codec.sent_so_far(exchange.stream).body;
            let timeouts = &sending.response.timeouts;
            let terms = Terms { silence_ms: timeouts.send_ms, rate: timeouts.min_rate };
            let lapse = exchange.stalled.get_or_insert_default().look(sent, is_shut, terms, cx);
            stalled.extend(lapse.map(|lapse| (exchange.stream, lapse)));
        }
        for (stream, lapse) in &stalled {
            self.late(*lapse);
            self.codec.reset(*stream, ErrorCode::Protocol);
        }
        !stalled.is_empty()
    }

    /// Reports a client that exceeded a time limit.
    pub(super) fn late(&self, lapse: Lapse) {
        match lapse {
            Lapse::Silent => self.service.http2_failed(&self.connection, "client timed out"),
            Lapse::Slow => self.service.client_too_slow(&self.connection),
        }
    }

    /// Sets the deadline and polls it, when there is no progress.
    pub(super) fn watch(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        let clock = if !self.codec.output().is_empty() {
            Clock::Sending
        } else if let Some(stream) = self.codec.late_stream(&self.partial) {
            Clock::Head(stream)
        } else if self.codec.is_lingering() {
            Clock::Tails
        } else if !self.exchanges.is_empty() {
            Clock::Off
        } else if self.codec.is_parting() {
            Clock::Parting
        } else if self.codec.is_fresh() {
            Clock::First
        } else {
            Clock::Idle
        };
        if clock != self.clock {
            self.clock = clock;
            self.wind(clock);
        }
        self.stand(clock);
        if self.connection.has_given_way() && clock == Clock::Sending {
            return Poll::Ready(End::TimedOut);
        }
        if clock == Clock::Sending {
            return self.await_taking(cx);
        }
        if matches!(clock, Clock::Head(_)) && self.head_is_slow(cx) {
            // Same as an expired deadline.
        } else if self.connection.deadline.poll_expired(cx).is_pending() {
            return Poll::Pending;
        }
        self.clock = Clock::Off;
        match clock {
            Clock::Sending => return Poll::Ready(End::TimedOut),
            Clock::Head(stream) => {
                self.service.http2_failed(&self.connection, "client timed out");
                self.codec.reset_late(stream);
            }
            Clock::Tails => self.codec.reset_lingering(),
            Clock::Parting => self.codec.shut_down(),
            Clock::Off | Clock::First | Clock::Idle if self.partial.is_empty() => {
                self.codec.shut_down();
                self.fail();
            }
            Clock::Off | Clock::First | Clock::Idle => {
                self.service.http2_failed(&self.connection, "client timed out");
                self.codec.give_up(ErrorCode::Protocol);
                self.fail();
            }
        }
        self.poll(cx)
    }

    /// Returns whether a client that was waited for, and now reads `written` bytes, is too slow.
    pub(super) fn has_taken_too_little(&mut self, written: usize) -> bool {
        let rate = self.timeouts().min_rate;
        self.sending.moved(written as u64, &self.connection.deadline, rate, &|| self.connection.taken())
    }

    /// Waits for the client to read the written bytes.
    fn await_taking(&mut self, cx: &Context<'_>) -> Poll<End> {
        let timeouts = self.timeouts();
        let terms = Terms { silence_ms: timeouts.send_ms, rate: timeouts.min_rate };
        let connection = &self.connection;
        self.sending.poll(&connection.deadline, terms, &|| connection.taken(), cx).map(|lapse| {
            self.late(lapse);
            if lapse == Lapse::Slow { End::TooSlow } else { End::TimedOut }
        })
    }

    /// Returns whether a header block arrives too slowly; other frames received meanwhile count too.
    fn head_is_slow(&mut self, cx: &Context<'_>) -> bool {
        let terms = Terms { silence_ms: 0, rate: self.timeouts().min_rate };
        let head = self.head.get_or_insert_default();
        head.1.poll(&head.0, terms, AS_MOVED, cx).is_ready()
    }

    /// Updates the activity of the connection.
    fn stand(&self, clock: Clock) {
        let connection = &self.connection;
        match clock {
            Clock::First | Clock::Idle | Clock::Parting | Clock::Tails => connection.rest(),
            Clock::Head(_) | Clock::Sending => connection.stall(),
            Clock::Off if self.exchanges.iter().all(Exchange::awaits_client) => connection.stall(),
            Clock::Off => connection.go_on(),
        }
    }

    fn wind(&mut self, clock: Clock) {
        let limits = self.service.limits(&self.connection);
        self.connection.deadline.set(match clock {
            // The time limit of writes is set while the client is waited for.
            Clock::Off | Clock::Sending => 0,
            Clock::Tails => TAILS_MS,
            Clock::Parting => PARTING_MS,
            Clock::First | Clock::Head(_) => limits.header_timeout_ms,
            // 0 closes immediately, because a GOAWAY was sent with the first request.
            Clock::Idle => limits.timeouts.keepalive_ms,
        });
        self.head = None;
        match clock {
            Clock::Tails => self.codec.await_lingering(),
            Clock::Idle => self.rest(),
            Clock::Off | Clock::First | Clock::Head(_) | Clock::Parting | Clock::Sending => {}
        }
    }

    /// Frees the memory that only a busy connection needs.
    fn rest(&mut self) {
        self.codec.rest();
        self.exchanges.shrink_to_fit();
        self.leaving.shrink_to_fit();
        self.partial.shrink_to_fit();
        self.streams = Vec::new();
        self.woken = None;
    }
}
