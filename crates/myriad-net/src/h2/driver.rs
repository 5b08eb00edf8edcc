//! Main loop of an HTTP/2 connection.

mod timeouts;

use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use myriad_http::h2::{FinishedStream, Http2ServerConfig};
use myriad_http::{RequestHead, h2};

use super::buffered_bytes::ConnectionBufferedBytes;
use super::exchange::{self, ExchangeStage, Http2Exchange};
use super::wake::WokenStreams;
use crate::client_timeouts::{ClientTimeouts, TimeoutReason};
use crate::clock::{monotonic_ms, now_ms};
use crate::connection::Connection;
use crate::deadline::{self, Deadline};
use crate::service::{Http2Limits, Service};
use crate::timeouts::Timeouts;

/// Approximate number of output bytes scheduled for one write of an HTTP/2 connection: whole frames, plus response
/// heads.
const BATCH: usize = 64 * 1024;
/// Maximum number of buffers passed to one write.
const SLICES: usize = 64;
/// Number of unsent output bytes of a connection at which it stops reading frames. The output includes response heads
/// and replies to control frames.
const BACKLOG: usize = 256 * 1024;
/// Number of bytes by which the receive window of a stream grows once its request body is being read, unless the body
/// is short, memory is short, or other streams of the connection have used up `READ_AHEAD`.
pub(super) const READ_AHEAD_STREAM: u32 = 1 << 20;
/// Maximum number of socket reads of a connection per poll, so that other connections are served in between.
const READS: u32 = 8;

/// Maximum time in milliseconds for the client to acknowledge the ping of a graceful shutdown: several round trips over
/// any distance.
const PARTING_MS: u64 = 1000;

/// Reason why a connection closes.
pub(super) enum CloseReason {
    /// The client closed the connection, or a read or write failed.
    Gone,
    /// The client accepted no bytes within `send_timeout`, or was evicted while bytes were pending.
    TimedOut,
    /// The client read more slowly than `client_min_rate`.
    TooSlow,
    /// The client has been sent a GOAWAY, and all responses are sent or aborted.
    ShutDown,
}

/// Reason why writing stopped.
enum WriteStop {
    /// The connection failed, or the client closed it.
    Gone,
    /// The client read more slowly than `client_min_rate`.
    TooSlow,
}

/// Event that the current deadline of the connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeadlineKind {
    /// The first request of a client that has not opened a stream yet.
    First,
    /// The rest of a header block, which opens the stream of this number.
    Head(u32),
    /// The rest of request bodies that are not used. It may be in transit and is discarded.
    Tails,
    /// The client's acknowledgement of a graceful shutdown.
    Parting,
    /// The client's next request, while no request is in progress.
    Idle,
    /// None: requests are in progress, so the connection has no deadline. Waits for request bodies and for windows of
    /// single streams have separate deadlines.
    Off,
    /// The client must read bytes that were written before more output can be written.
    Sending,
}

/// Driver of one HTTP/2 connection with all its exchanges.
pub(super) struct Driver<S: Service> {
    pub(super) service: Rc<S>,
    pub(super) connection: Rc<Connection>,
    pub(super) codec: h2::Http2Server,
    pub(super) limits: Http2Limits,
    /// Exchanges in progress, sorted by stream number.
    pub(super) exchanges: Vec<Http2Exchange<S::ExchangeState>>,
    /// Exchanges whose response is completely in the output, each with the value of `written` at which its last byte is
    /// sent.
    leaving: VecDeque<(u64, Http2Exchange<S::ExchangeState>, FinishedStream)>,
    /// Bytes of response bodies that were fetched in pieces and wait for flow-control windows; bodies that were in
    /// memory as a whole do not count.
    pub(super) held: ConnectionBufferedBytes,
    /// Total number of bytes written to the client's socket.
    written: u64,
    /// Received bytes that are not processed yet, to be joined with the next read: an incomplete frame, or while
    /// `is_early` is set all bytes that were read before HTTP/2 was detected.
    pub(super) partial: Vec<u8>,
    /// Set until the bytes that were read before HTTP/2 was detected have been processed.
    pub(super) is_early: bool,
    pub(super) woken: Option<WokenStreams>,
    /// Waker of the task that drives the connection.
    pub(super) task: Waker,
    /// Sum of the receive-window increments of [`READ_AHEAD_STREAM`] bytes that streams currently have, in bytes.
    pub(super) read_ahead: u32,
    /// Buffer for the numbers of woken streams; stored only to reuse its allocation.
    streams: Vec<u32>,
    clock: DeadlineKind,
    /// Measurement of the waits for the client to read the written bytes, for `send_timeout` and `client_min_rate`.
    sending: ClientTimeouts,
    /// Deadline and transfer rate of a partially received header block; `None` if there is none.
    pub(super) head: Option<Box<(Deadline, ClientTimeouts)>>,
    /// Value of [`deadline::epoch`] at the start of the connection. After a reload it differs, and the connection is
    /// shut down gracefully.
    epoch: u32,
    /// Set if the client violated the protocol or the connection closes: all exchanges are abandoned.
    pub(super) failed: bool,
    /// Time of [`monotonic_ms`], in milliseconds, up to which the client may acknowledge the shutdown; 0 before the
    /// shutdown.
    parts_by: u64,
}

impl<S: Service> Driver<S> {
    pub(super) fn new(service: Rc<S>, connection: Rc<Connection>, early: &[u8]) -> Self {
        let limits = service.http2(&connection).unwrap_or_default();
        let config = Http2ServerConfig {
            head: service.limits(&connection).block,
            max_streams: limits.streams,
            window: limits.preread,
        };
        Self {
            service,
            codec: h2::Http2Server::new(config),
            connection,
            limits,
            exchanges: Vec::new(),
            leaving: VecDeque::new(),
            held: ConnectionBufferedBytes::default(),
            written: 0,
            partial: early.to_vec(),
            is_early: !early.is_empty(),
            woken: None,
            task: Waker::noop().clone(),
            read_ahead: 0,
            streams: Vec::new(),
            clock: DeadlineKind::Off,
            sending: ClientTimeouts::default(),
            head: None,
            epoch: deadline::epoch(),
            failed: false,
            parts_by: 0,
        }
    }

    /// Returns the timeouts that apply before a request is routed: those of the default server.
    pub(super) fn timeouts(&self) -> Timeouts {
        self.service.limits(&self.connection).timeouts
    }

    /// Does all work that is possible without waiting. Ready once the connection must close.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<CloseReason> {
        if !self.task.will_wake(cx.waker()) {
            self.task.clone_from(cx.waker());
            self.connection.multiplex().set_driver(cx.waker());
            if let Some(woken) = &self.woken {
                woken.set_task(cx.waker());
            }
        }
        let mut reads = 0;
        loop {
            if self.connection.is_evicted() && !self.failed {
                self.codec.shut_down();
                self.abandon_exchanges();
            }
            let mut moved = self.run_woken();
            moved |= self.pull_bodies();
            if deadline::draining() || deadline::epoch() != self.epoch {
                self.begin_shutdown();
            }
            match self.write(cx) {
                Ok(written) => moved |= written,
                Err(WriteStop::Gone) => return Poll::Ready(CloseReason::Gone),
                Err(WriteStop::TooSlow) => return Poll::Ready(CloseReason::TooSlow),
            }
            if self.is_over() {
                return Poll::Ready(CloseReason::ShutDown);
            }
            if !self.failed && self.codec.output().len() < BACKLOG {
                if reads == READS {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                match self.read(cx) {
                    Poll::Ready(true) => {
                        reads += 1;
                        moved = true;
                    }
                    Poll::Ready(false) => return Poll::Ready(CloseReason::Gone),
                    Poll::Pending => {}
                }
            }
            if moved && !self.exchanges.is_empty() {
                self.connection.mark_busy();
            }
            if moved || self.reset_stalled(cx) {
                continue;
            }
            return self.poll_deadline(cx);
        }
    }

    /// Starts a graceful shutdown. If one has started already and the client has not acknowledged it within
    /// [`PARTING_MS`], sends the final GOAWAY, which names the last accepted stream.
    fn begin_shutdown(&mut self) {
        if self.codec.awaits_shutdown_ping() {
            if monotonic_ms() >= self.parts_by {
                self.codec.shut_down();
            }
        } else if !self.codec.is_shutting_down() {
            self.parts_by = monotonic_ms() + PARTING_MS;
            self.codec.begin_graceful_shutdown();
        }
    }

    /// Returns true if the connection can close: it has failed or accepts no more requests, no exchange is left, and
    /// all output has been sent.
    fn is_over(&mut self) -> bool {
        let done = self.failed || self.codec.is_shutting_down() && self.codec.streams() == 0;
        done && self.exchanges.is_empty() && self.leaving.is_empty() && self.codec.output().is_empty()
    }

    /// Writes the output to the socket until the socket would block, no output is left, or a stream can fetch more of
    /// its body. Returns true if bytes were written.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, WriteStop> {
        let mut moved = false;
        loop {
            if !self.failed {
                self.codec.schedule(BATCH);
            }
            self.remove_finished();
            let output = self.codec.output();
            if output.is_empty() {
                return Ok(moved);
            }
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = output.slices(&mut slices);
            match self.connection.socket.poll_write(cx, &slices[..count]) {
                Poll::Ready(written) => {
                    let written = written.map_err(|_| WriteStop::Gone)?;
                    output.advance(written);
                    self.written += written as u64;
                    self.remove_finished();
                    moved = true;
                    if self.clock == DeadlineKind::Sending {
                        // Any bytes read restart `send_timeout`.
                        self.clock = DeadlineKind::Off;
                    }
                    if self.sending.is_waiting() && self.reads_too_slowly(written) {
                        self.report_timeout(TimeoutReason::BelowMinRate);
                        return Err(WriteStop::TooSlow);
                    }
                    // Other streams may have been woken and may need pieces of bodies.
                    if self.exchanges.iter().any(Http2Exchange::is_pulling) {
                        return Ok(moved);
                    }
                }
                Poll::Pending => return Ok(moved),
            }
        }
    }

    /// Finishes the exchanges whose streams are closed. A complete response is finished once it has been written.
    fn remove_finished(&mut self) {
        while let Some(over) = self.codec.take_finished() {
            let Some(exchange) = self.take_exchange(over.stream) else { continue };
            if over.complete {
                let end = self.written + self.codec.output().len() as u64;
                self.leaving.push_back((end, exchange, over));
            } else {
                self.finish(exchange, &over);
            }
        }
        while self.leaving.front().is_some_and(|(end, ..)| *end <= self.written) {
            if let Some((_, exchange, over)) = self.leaving.pop_front() {
                self.finish(exchange, &over);
            }
        }
    }

    /// Frees the resources of an exchange whose stream is closed. Reports its response, sent or aborted, to the
    /// service; an exchange without a response is not reported.
    fn finish(&mut self, exchange: Http2Exchange<S::ExchangeState>, over: &FinishedStream) {
        let request_bytes = exchange.request_bytes();
        if exchange.is_widened {
            self.read_ahead -= READ_AHEAD_STREAM;
        }
        if let Some(feed) = &exchange.feed {
            feed.fail(myriad_http::body::BodyError::Aborted);
        }
        // A waiting exchange logs the abort when its future is dropped.
        let ExchangeStage::Sending(sending) = exchange.stage else { return };
        let response = sending.response;
        let status = if response.drop_connection { 0 } else { response.head.status() };
        let sent = exchange::sent_report(over, status, request_bytes, sending.first_us);
        // The returned work is dropped: it would delay the close of the connection, which a stream does not cause.
        drop(self.service.finish(&RequestHead::new(), &self.connection, response.ticket, &sent));
        crate::request_buffers::return_head(response.head.text);
    }

    /// Returns true if the connection must not accept further requests: `keepalive_timeout` is 0, or
    /// `keepalive_requests` or `keepalive_time` is reached.
    pub(super) fn is_exhausted(&self) -> bool {
        let timeouts = self.timeouts();
        timeouts.keepalive_ms == 0
            || self.connection.requests.get() >= timeouts.keepalive_requests
            || now_ms().saturating_sub(self.connection.accepted_ms) > self.limits.keepalive_time_ms
    }

    /// Polls the streams that were woken. Returns true if there were any.
    fn run_woken(&mut self) -> bool {
        let Some(woken) = &self.woken else { return false };
        let mut streams = std::mem::take(&mut self.streams);
        woken.take(&mut streams);
        self.send_interims();
        for stream in &streams {
            self.run(*stream);
        }
        let any = !streams.is_empty();
        self.streams = streams;
        any
    }
}

impl<S: Service> Driver<S> {
    /// Aborts all exchanges. Pending output, such as a GOAWAY with the reason, is still written.
    pub(super) fn abandon_exchanges(&mut self) {
        self.failed = true;
        for exchange in std::mem::take(&mut self.exchanges) {
            let (stream, sent) = (exchange.stream, self.codec.sent_so_far(exchange.stream));
            self.finish(exchange, &FinishedStream { stream, sent, complete: false, by_client: true });
        }
    }
}

impl<S: Service> Drop for Driver<S> {
    /// Reports the responses that have not been sent completely as aborted.
    fn drop(&mut self) {
        for (_, exchange, over) in std::mem::take(&mut self.leaving) {
            self.finish(exchange, &FinishedStream { complete: false, by_client: true, ..over });
        }
        self.abandon_exchanges();
    }
}
