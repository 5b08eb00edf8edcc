//! Deadlines of an HTTP/2 connection without progress: for requests, request heads, and clients that do not read.

use std::task::{Context, Poll};

use myriad_http::h2::ErrorCode;

use super::{CloseReason, DeadlineKind, Driver, PARTING_MS};
use crate::client_timeouts::{AS_MOVED, ClientTimeLimits, TimeoutReason};
use crate::h2::exchange::{ExchangeStage, Http2Exchange};
use crate::service::Service;

/// Time in milliseconds to wait for the rest of a discarded request body before its stream is reset. A client that
/// finishes the body in this time gets no reset.
const TAILS_MS: u64 = 1000;

impl<S: Service> Driver<S> {
    /// Resets the streams whose flow-control windows the client leaves closed for too long or opens too slowly, and
    /// reports each to the service. Returns true if a stream was reset.
    pub(super) fn reset_stalled(&mut self, cx: &mut Context<'_>) -> bool {
        let mut stalled = Vec::new();
        for exchange in &mut self.exchanges {
            let ExchangeStage::Sending(sending) = &exchange.stage else { continue };
            let is_shut = self.codec.is_stalled(exchange.stream);
            if !is_shut && exchange.stalled.is_none() {
                continue;
            }
            let sent = self.codec.sent_so_far(exchange.stream).body;
            let timeouts = &sending.response.timeouts;
            let terms = ClientTimeLimits { silence_ms: timeouts.send_ms, rate: timeouts.min_rate };
            let lapse = exchange.stalled.get_or_insert_default().check_progress(sent, is_shut, terms, cx);
            stalled.extend(lapse.map(|lapse| (exchange.stream, lapse)));
        }
        for (stream, lapse) in &stalled {
            self.report_timeout(*lapse);
            self.codec.reset(*stream, ErrorCode::Protocol);
        }
        !stalled.is_empty()
    }

    /// Reports to the service that the client exceeded a time limit.
    pub(super) fn report_timeout(&self, lapse: TimeoutReason) {
        match lapse {
            TimeoutReason::Idle => self.service.http2_failed(&self.connection, "client timed out"),
            TimeoutReason::BelowMinRate => self.service.client_too_slow(&self.connection),
        }
    }

    /// Sets the deadline for the current state and polls it. Called if no other work is possible. If the deadline has
    /// expired, resets the streams concerned or shuts the connection down.
    pub(super) fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<CloseReason> {
        let clock = if !self.codec.output().is_empty() {
            DeadlineKind::Sending
        } else if let Some(stream) = self.codec.late_stream(&self.partial) {
            DeadlineKind::Head(stream)
        } else if self.codec.is_lingering() {
            DeadlineKind::Tails
        } else if !self.exchanges.is_empty() {
            DeadlineKind::Off
        } else if self.codec.awaits_shutdown_ping() {
            DeadlineKind::Parting
        } else if self.codec.has_no_streams() {
            DeadlineKind::First
        } else {
            DeadlineKind::Idle
        };
        if clock != self.clock {
            self.clock = clock;
            self.set_deadline(clock);
        }
        self.update_activity(clock);
        if self.connection.is_evicted() && clock == DeadlineKind::Sending {
            return Poll::Ready(CloseReason::TimedOut);
        }
        if clock == DeadlineKind::Sending {
            return self.wait_for_client(cx);
        }
        if matches!(clock, DeadlineKind::Head(_)) && self.head_is_slow(cx) {
            // A head that arrives too slowly is treated like an expired deadline.
        } else if self.connection.deadline.poll_expired(cx).is_pending() {
            return Poll::Pending;
        }
        self.clock = DeadlineKind::Off;
        match clock {
            DeadlineKind::Sending => return Poll::Ready(CloseReason::TimedOut),
            DeadlineKind::Head(stream) => {
                self.service.http2_failed(&self.connection, "client timed out");
                self.codec.reset_late(stream);
            }
            DeadlineKind::Tails => self.codec.reset_lingering(),
            DeadlineKind::Parting => self.codec.shut_down(),
            DeadlineKind::Off | DeadlineKind::First | DeadlineKind::Idle if self.partial.is_empty() => {
                self.codec.shut_down();
                self.abandon_exchanges();
            }
            DeadlineKind::Off | DeadlineKind::First | DeadlineKind::Idle => {
                self.service.http2_failed(&self.connection, "client timed out");
                self.codec.terminate(ErrorCode::Protocol);
                self.abandon_exchanges();
            }
        }
        self.poll(cx)
    }

    /// Records that `written` bytes were written, which finishes a wait for the client to read. Returns true if the
    /// client reads more slowly than the minimum rate.
    pub(super) fn reads_too_slowly(&mut self, written: usize) -> bool {
        let rate = self.timeouts().min_rate;
        self.sending.record_transfer(written as u64, &self.connection.deadline, rate, &|| {
            self.connection.acked_bytes()
        })
    }

    /// Waits for the client to read the written bytes. If the wait exceeds a time limit, reports this and is ready with
    /// the reason to close the connection.
    fn wait_for_client(&mut self, cx: &Context<'_>) -> Poll<CloseReason> {
        let timeouts = self.timeouts();
        let terms = ClientTimeLimits { silence_ms: timeouts.send_ms, rate: timeouts.min_rate };
        let connection = &self.connection;
        self.sending.poll(&connection.deadline, terms, &|| connection.acked_bytes(), cx).map(|lapse| {
            self.report_timeout(lapse);
            if lapse == TimeoutReason::BelowMinRate { CloseReason::TooSlow } else { CloseReason::TimedOut }
        })
    }

    /// Returns true if a header block arrives below the minimum rate. Bytes of other frames received meanwhile count as
    /// well.
    fn head_is_slow(&mut self, cx: &Context<'_>) -> bool {
        let terms = ClientTimeLimits { silence_ms: 0, rate: self.timeouts().min_rate };
        let head = self.head.get_or_insert_default();
        head.1.poll(&head.0, terms, AS_MOVED, cx).is_ready()
    }

    /// Updates the activity of the connection, which determines whether it can be evicted.
    fn update_activity(&self, clock: DeadlineKind) {
        let connection = &self.connection;
        match clock {
            DeadlineKind::First | DeadlineKind::Idle | DeadlineKind::Parting | DeadlineKind::Tails => {
                connection.mark_idle();
            }
            DeadlineKind::Head(_) | DeadlineKind::Sending => connection.mark_stalled(),
            DeadlineKind::Off if self.exchanges.iter().all(Http2Exchange::awaits_client) => {
                connection.mark_stalled();
            }
            DeadlineKind::Off => connection.mark_busy(),
        }
    }

    fn set_deadline(&mut self, clock: DeadlineKind) {
        let limits = self.service.limits(&self.connection);
        self.connection.deadline.set(match clock {
            // [`Driver::wait_for_client`] sets the deadline itself.
            DeadlineKind::Off | DeadlineKind::Sending => 0,
            DeadlineKind::Tails => TAILS_MS,
            DeadlineKind::Parting => PARTING_MS,
            DeadlineKind::First | DeadlineKind::Head(_) => limits.header_timeout_ms,
            // 0 clears the deadline: a GOAWAY was sent with the first request already.
            DeadlineKind::Idle => limits.timeouts.keepalive_ms,
        });
        self.head = None;
        match clock {
            DeadlineKind::Tails => self.codec.await_lingering(),
            DeadlineKind::Idle => self.free_idle_memory(),
            DeadlineKind::Off
            | DeadlineKind::First
            | DeadlineKind::Head(_)
            | DeadlineKind::Parting
            | DeadlineKind::Sending => {}
        }
    }

    /// Frees memory that an idle connection does not need.
    fn free_idle_memory(&mut self) {
        self.codec.free_idle_memory();
        self.exchanges.shrink_to_fit();
        self.leaving.shrink_to_fit();
        self.partial.shrink_to_fit();
        self.streams = Vec::new();
        self.woken = None;
    }
}
