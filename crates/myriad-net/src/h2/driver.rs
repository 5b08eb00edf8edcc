//! Main loop of a connection.

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

/// Approximate maximum size of one write: whole frames, plus response heads.
const BATCH: usize = 64 * 1024;
/// Maximum number of slices per write.
const SLICES: usize = 64;
/// Size of the output from which reading stops: response heads, replies to control frames.
const BACKLOG: usize = 256 * 1024;
/// Bytes that a client may send in advance on one stream once its body is being read.
pub(super) const READ_AHEAD_STREAM: u32 = 1 << 20;
/// Number of reads before other connections are served.
const READS: u32 = 8;

/// Time in milliseconds for a client to acknowledge the shutdown: some round trips to any place.
const PARTING_MS: u64 = 1000;

/// Reason why a connection closes.
pub(super) enum CloseReason {
    /// The client has closed the connection.
    Gone,
    /// The client reads nothing.
    TimedOut,
    /// The client reads too slowly.
    TooSlow,
    /// The client has been notified and all responses are sent.
    ShutDown,
}

/// Reason why writing stopped.
enum WriteStop {
    Gone,
    TooSlow,
}

/// Event that the deadline of the connection is set for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeadlineKind {
    /// The first request.
    First,
    /// The rest of a header block, which opens this stream.
    Head(u32),
    /// The rest of unused bodies, which may be in transit.
    Tails,
    /// The client's acknowledgement of the shutdown.
    Parting,
    /// The next request.
    Idle,
    /// No event of the client.
    Off,
    /// The client reading the written bytes.
    Sending,
}

/// Connection with all its requests.
pub(super) struct Driver<S: Service> {
    pub(super) service: Rc<S>,
    pub(super) connection: Rc<Connection>,
    pub(super) codec: h2::Http2Server,
    pub(super) limits: Http2Limits,
    /// Exchanges in progress, in the order of their streams.
    pub(super) exchanges: Vec<Http2Exchange<S::ExchangeState>>,
    /// Responses that are completely in the output, each with its end position in the output.
    leaving: VecDeque<(u64, Http2Exchange<S::ExchangeState>, FinishedStream)>,
    /// Pieces of bodies that wait for flow-control windows.
    pub(super) held: ConnectionBufferedBytes,
    /// Bytes written so far.
    written: u64,
    /// Received bytes of an incomplete frame.
    pub(super) partial: Vec<u8>,
    /// Set while the bytes read before HTTP/2 was detected have not been processed.
    pub(super) is_early: bool,
    pub(super) woken: Option<WokenStreams>,
    /// The task of the connection.
    pub(super) task: Waker,
    /// Bytes that clients may send in advance of readers, in addition to the initial windows of streams.
    pub(super) read_ahead: u32,
    /// Streams to process; retained for its allocation.
    streams: Vec<u32>,
    clock: DeadlineKind,
    /// Time limits of waiting for the client to read the written bytes.
    sending: ClientTimeouts,
    /// Transfer rate of a partial header block.
    pub(super) head: Option<Box<(Deadline, ClientTimeouts)>>,
    /// Number of reloads at the start of the connection: after a reload, older connections are shut down gracefully.
    epoch: u32,
    /// Set if the client violated the protocol or the connection is closed: exchanges in progress are abandoned.
    pub(super) failed: bool,
    /// Deadline of the client's acknowledgement of the shutdown, by the monotonic clock; 0 before the shutdown.
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

    /// Returns the current time-outs of the connection's default server.
    pub(super) fn timeouts(&self) -> Timeouts {
        self.service.limits(&self.connection).timeouts
    }

    /// Runs all work that can proceed now.
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

    /// Starts a graceful shutdown. If the client does not acknowledge it in time, sends the final GOAWAY, which lists
    /// the refused streams.
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

    /// Returns whether the connection is shut down and all earlier requests have been responded to.
    fn is_over(&mut self) -> bool {
        let done = self.failed || self.codec.is_shutting_down() && self.codec.streams() == 0;
        done && self.exchanges.is_empty() && self.leaving.is_empty() && self.codec.output().is_empty()
    }

    /// Writes the output. Returns whether bytes were written.
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
                        // A client that reads any bytes gets the full time again.
                        self.clock = DeadlineKind::Off;
                    }
                    if self.sending.is_waiting() && self.reads_too_slowly(written) {
                        self.report_timeout(TimeoutReason::BelowMinRate);
                        return Err(WriteStop::TooSlow);
                    }
                    // Streams have been woken in the meantime, and pieces of bodies are needed.
                    if self.exchanges.iter().any(Http2Exchange::is_pulling) {
                        return Ok(moved);
                    }
                }
                Poll::Pending => return Ok(moved),
            }
        }
    }

    /// Removes finished streams; a complete response counts as finished once it has been written.
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

    /// Finishes an exchange whose response was sent or aborted.
    fn finish(&mut self, exchange: Http2Exchange<S::ExchangeState>, over: &FinishedStream) {
        let request_bytes = exchange.request_bytes();
        if exchange.is_widened {
            self.read_ahead -= READ_AHEAD_STREAM;
        }
        if let Some(feed) = &exchange.feed {
            feed.fail(myriad_http::body::BodyError::Aborted);
        }
        // A waiting exchange logs its abort on drop.
        let ExchangeStage::Sending(sending) = exchange.stage else { return };
        let response = sending.response;
        let status = if response.drop_connection { 0 } else { response.head.status() };
        let sent = exchange::sent_report(over, status, request_bytes, sending.first_us);
        // No client waits for a connection to close after a stream.
        drop(self.service.finish(&RequestHead::new(), &self.connection, response.ticket, &sent));
        crate::request_buffers::return_head(response.head.text);
    }

    /// Returns whether the connection accepts no requests after this one.
    pub(super) fn is_exhausted(&self) -> bool {
        let timeouts = self.timeouts();
        timeouts.keepalive_ms == 0
            || self.connection.requests.get() >= timeouts.keepalive_requests
            || now_ms().saturating_sub(self.connection.accepted_ms) > self.limits.keepalive_time_ms
    }

    /// Processes the woken streams. Returns whether any stream was woken.
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
    /// Abandons all exchanges; the client is still notified of the reason.
    pub(super) fn abandon_exchanges(&mut self) {
        self.failed = true;
        for exchange in std::mem::take(&mut self.exchanges) {
            let (stream, sent) = (exchange.stream, self.codec.sent_so_far(exchange.stream));
            self.finish(exchange, &FinishedStream { stream, sent, complete: false, by_client: true });
        }
    }
}

impl<S: Service> Drop for Driver<S> {
    /// Aborts the responses that have not been sent.
    fn drop(&mut self) {
        for (_, exchange, over) in std::mem::take(&mut self.leaving) {
            self.finish(exchange, &FinishedStream { complete: false, by_client: true, ..over });
        }
        self.abandon_exchanges();
    }
}
