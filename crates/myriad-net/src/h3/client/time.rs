//! Timers of a QUIC connection and the actions when they expire.

use std::time::{Duration, Instant};

use myriad_http::h3::Http3ErrorCode;
use quinn_proto::StreamId;

use super::{HubContext, QuicClient};
use crate::h3::request::{RequestState, RequestStream};
use crate::service::{HandshakeFailure, Service};

/// Maximum time, from the opening of its stream, that a request waits for the end of the stream if its method usually
/// has no body. After that it is passed to the service, which then reads its body.
const END_PATIENCE: Duration = Duration::from_millis(200);

impl<S: Service> QuicClient<S> {
    /// Returns the time at which [`Self::tick`] must be called next; `None` if no timer is set.
    pub(in crate::h3) fn wake_at(&mut self) -> Option<Instant> {
        let own = self.next_own_timer();
        match (self.quic.poll_timeout(), own) {
            (Some(quic), Some(own)) => Some(quic.min(own)),
            (quic, own) => quic.or(own),
        }
    }

    fn next_own_timer(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        if self.handshake_until.is_some() {
            return self.handshake_until;
        }
        if self.streams.is_empty() {
            let over = |told: Instant| told.max(self.looked) + self.goaway_grace();
            return Some(self.leaving.map_or(self.active + self.idle, over));
        }
        if self.held_until.is_some() {
            return self.held_until;
        }
        let interval =
            [self.head_timeout, self.head_grace].into_iter().flatten().fold(self.idle / 2, Duration::min);
        Some(self.looked + interval)
    }

    /// Runs the timers of QUIC and of this connection that have expired.
    pub(in crate::h3) fn tick(&mut self, around: &mut HubContext<'_, S>) {
        let now = around.now;
        if self.quic.poll_timeout().is_some_and(|at| at <= now) {
            self.quic.handle_timeout(now);
        }
        if self.next_own_timer().is_none_or(|at| at > now) {
            return;
        }
        if self.handshake_until.is_some() {
            around.service.handshake_over(&self.connection, Some(HandshakeFailure::TimedOut));
            self.close(now, Http3ErrorCode::NoError, "handshake timed out");
        } else if self.streams.is_empty() {
            self.shut_down(now);
            self.looked = now;
        } else {
            self.looked = now;
            self.release_held(around);
            self.abort_late_heads(around);
            if self
                .streams
                .values()
                .any(|stream| matches!(stream.work, RequestState::Waiting(_) | RequestState::Sending(_)))
            {
                // Keeps the connection alive during a slow response.
                self.quic.ping();
            }
        }
    }

    /// Passes the requests to the service that have waited for the end of their stream for [`END_PATIENCE`].
    fn release_held(&mut self, around: &mut HubContext<'_, S>) {
        let is_due = |stream: &RequestStream<S::ExchangeState>| {
            stream.awaits_stream_end() && stream.opened + END_PATIENCE <= around.now
        };
        let due: Vec<StreamId> =
            self.streams.iter().filter(|(_, stream)| is_due(stream)).map(|(id, _)| *id).collect();
        for id in due {
            self.release(id, around);
        }
        let held = self.streams.values().filter(|stream| stream.awaits_stream_end());
        self.held_until = held.map(|stream| stream.opened + END_PATIENCE).min();
    }

    /// Schedules the release of a request that waits for the end of its stream, which was opened at `opened`.
    pub(super) fn schedule_release(&mut self, opened: Instant) {
        let until = opened + END_PATIENCE;
        self.held_until = Some(self.held_until.map_or(until, |known| known.min(until)));
    }

    /// Aborts requests that were not passed to the service within `client_header_timeout`, including delayed ones, or
    /// whose heads arrive slower than `client_min_rate`.
    fn abort_late_heads(&mut self, around: &mut HubContext<'_, S>) {
        let rate = self.min_rate;
        let is_late = |stream: &RequestStream<S::ExchangeState>| {
            let age = around.now.saturating_duration_since(stream.opened);
            let is_over = self.head_timeout.is_some_and(|timeout| timeout <= age);
            let is_slow = matches!(stream.work, RequestState::Reading)
                && rate.is_below_rate(stream.head_bytes, age.as_millis() as u64);
            matches!(stream.work, RequestState::Reading | RequestState::Held(_)) && (is_over || is_slow)
        };
        let late: Vec<StreamId> =
            self.streams.iter().filter(|(_, stream)| is_late(stream)).map(|(id, _)| *id).collect();
        for id in late {
            self.on_head_timeout(id, around);
        }
    }
}
