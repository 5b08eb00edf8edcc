//! The loop of a connection.

mod watch;

use std::collections::VecDeque;
use std::io::IoSlice;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use myriad_http::h2::{Config, Over};
use myriad_http::{RequestHead, h2};

use super::exchange::{self, Exchange, Stage};
use super::held_bytes::HeldBytes;
use super::wake::Woken;
use crate::clock::{monotonic_ms, now_ms};
use crate::connection::Connection;
use crate::deadline::{self, Deadline};
use crate::patience::{Lapse, Patience};
use crate::service::{Service, StreamLimits};
use crate::timeouts::Timeouts;

/// Bytes that are put into one write, more or less: whole frames, heads of answers on top.
const BATCH: usize = 64 * 1024;
/// Most slices in one write.
const SLICES: usize = 64;
/// Bytes of output from which on nothing more is read: heads of answers, answers to control frames.
const BACKLOG: usize = 256 * 1024;
/// Bytes that a client may send ahead of the reader of one stream's body, once somebody reads it.
pub(super) const READ_AHEAD_STREAM: u32 = 1 << 20;
/// Reads after which other connections have their turn.
const READS: u32 = 8;

/// How long a client has to answer that it knows of the end, milliseconds: some round trips to anywhere.
const PARTING_MS: u64 = 1000;

/// How a connection ended.
pub(super) enum End {
    /// The client is gone.
    Gone,
    /// It takes nothing any more.
    TimedOut,
    /// It takes too little.
    TooSlow,
    /// The client has been told.
    Said,
}

/// Why nothing more is written.
enum WriteEnd {
    Gone,
    TooSlow,
}

/// What the deadline of the connection is set for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// The first request.
    First,
    /// The rest of a header block, that opens this stream.
    Head(u32),
    /// The ends of bodies that nobody needs: they may be under way.
    Tails,
    /// The client's word that it knows of the end.
    Parting,
    /// The next request.
    Idle,
    /// Nothing: somebody else is waited for.
    Off,
    /// The client, to take what is written.
    Sending,
}

/// A connection with all its requests.
pub(super) struct Driver<S: Service> {
    pub(super) service: Rc<S>,
    pub(super) connection: Rc<Connection>,
    pub(super) codec: h2::Connection,
    pub(super) limits: StreamLimits,
    /// The exchanges under way, in the order of their streams.
    pub(super) exchanges: Vec<Exchange<S::Ticket>>,
    /// Answers that are in the output whole, each with the place in it where it ends.
    leaving: VecDeque<(u64, Exchange<S::Ticket>, Over)>,
    /// Pieces of bodies that wait for windows.
    pub(super) held: HeldBytes,
    /// Bytes written so far.
    written: u64,
    /// What came of a frame that is not complete.
    pub(super) partial: Vec<u8>,
    /// What was read before the connection was known for one of HTTP/2 has not been looked at.
    pub(super) is_early: bool,
    pub(super) woken: Option<Woken>,
    /// The task of the connection.
    pub(super) task: Waker,
    /// What clients may send ahead of readers, beyond the windows that streams begin with, bytes.
    pub(super) read_ahead: u32,
    /// Streams that are to be looked at; kept for its memory.
    streams: Vec<u32>,
    clock: Clock,
    /// How long the client is waited for to take what is written.
    sending: Patience,
    /// How fast a header block comes that has come in part.
    pub(super) head: Option<Box<(Deadline, Patience)>>,
    /// When the connection began, in reloads: those of before one are to connect anew.
    epoch: u32,
    /// The client broke a rule: what is under way is given up.
    pub(super) failed: bool,
    /// Until when the client's word is awaited that it knows of the end, by the monotonic clock; 0 before it was told.
    parts_by: u64,
}

impl<S: Service> Driver<S> {
    pub(super) fn new(service: Rc<S>, connection: Rc<Connection>, early: &[u8]) -> Self {
        let limits = service.http2(&connection).unwrap_or_default();
        let config = Config {
            head: service.limits(&connection).block,
            max_streams: limits.streams,
            window: limits.preread,
        };
        Self {
            service,
            codec: h2::Connection::new(config),
            connection,
            limits,
            exchanges: Vec::new(),
            leaving: VecDeque::new(),
            held: HeldBytes::default(),
            written: 0,
            partial: early.to_vec(),
            is_early: !early.is_empty(),
            woken: None,
            task: Waker::noop().clone(),
            read_ahead: 0,
            streams: Vec::new(),
            clock: Clock::Off,
            sending: Patience::default(),
            head: None,
            epoch: deadline::epoch(),
            failed: false,
            parts_by: 0,
        }
    }

    /// The time-outs of the connection's default server, as it is now.
    pub(super) fn timeouts(&self) -> Timeouts {
        self.service.limits(&self.connection).timeouts
    }

    /// Moves everything that can be moved now.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<End> {
        if !self.task.will_wake(cx.waker()) {
            self.task.clone_from(cx.waker());
            self.connection.multiplex().set_driver(cx.waker());
            if let Some(woken) = &self.woken {
                woken.set_task(cx.waker());
            }
        }
        let mut reads = 0;
        loop {
            if self.connection.has_given_way() && !self.failed {
                self.codec.shut_down();
                self.fail();
            }
            let mut moved = self.run_woken();
            moved |= self.pull();
            if deadline::draining() || deadline::epoch() != self.epoch {
                self.part();
            }
            match self.write(cx) {
                Ok(written) => moved |= written,
                Err(WriteEnd::Gone) => return Poll::Ready(End::Gone),
                Err(WriteEnd::TooSlow) => return Poll::Ready(End::TooSlow),
            }
            if self.is_over() {
                return Poll::Ready(End::Said);
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
                    Poll::Ready(false) => return Poll::Ready(End::Gone),
                    Poll::Pending => {}
                }
            }
            if moved && !self.exchanges.is_empty() {
                self.connection.go_on();
            }
            if moved || self.reset_stalled(cx) {
                continue;
            }
            return self.watch(cx);
        }
    }

    /// Tells the client that the connection ends. One that does not answer in time, and may go on asking, is told what is refused.
    fn part(&mut self) {
        if self.codec.is_parting() {
            if monotonic_ms() >= self.parts_by {
                self.codec.shut_down();
            }
        } else if !self.codec.is_leaving() {
            self.parts_by = monotonic_ms() + PARTING_MS;
            self.codec.take_leave();
        }
    }

    /// Whether the client has been told that the connection ends, and has all that it asked for before.
    fn is_over(&mut self) -> bool {
        let done = self.failed || self.codec.is_leaving() && self.codec.streams() == 0;
        done && self.exchanges.is_empty() && self.leaving.is_empty() && self.codec.output().is_empty()
    }

    /// Writes what there is; tells whether anything left.
    fn write(&mut self, cx: &mut Context<'_>) -> Result<bool, WriteEnd> {
        let mut moved = false;
        loop {
            if !self.failed {
                self.codec.schedule(BATCH);
            }
            self.settle();
            let output = self.codec.output();
            if output.is_empty() {
                return Ok(moved);
            }
            let mut slices = [IoSlice::new(&[]); SLICES];
            let count = output.slices(&mut slices);
            match self.connection.socket.poll_write(cx, &slices[..count]) {
                Poll::Ready(written) => {
                    let written = written.map_err(|_| WriteEnd::Gone)?;
                    output.advance(written);
                    self.written += written as u64;
                    self.settle();
                    moved = true;
                    if self.clock == Clock::Sending {
                        // Whoever still takes something is given time again.
                        self.clock = Clock::Off;
                    }
                    if self.sending.is_waiting() && self.has_taken_too_little(written) {
                        self.late(Lapse::Slow);
                        return Err(WriteEnd::TooSlow);
                    }
                    // Others have woken meanwhile, and pieces of bodies are wanted.
                    if self.exchanges.iter().any(Exchange::is_pulling) {
                        return Ok(moved);
                    }
                }
                Poll::Pending => return Ok(moved),
            }
        }
    }

    /// Takes leave of streams that are over: of answers once they have been written.
    fn settle(&mut self) {
        while let Some(over) = self.codec.take_over() {
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

    /// An answer has been sent, or will never be.
    fn finish(&mut self, exchange: Exchange<S::Ticket>, over: &Over) {
        let request_bytes = exchange.request_bytes();
        if exchange.is_widened {
            self.read_ahead -= READ_AHEAD_STREAM;
        }
        if let Some(feed) = &exchange.feed {
            feed.fail(myriad_http::body::BodyError::Aborted);
        }
        // One that waits logs its end by itself.
        let Stage::Sending(sending) = exchange.stage else { return };
        let response = sending.response;
        let status = if response.drop_connection { 0 } else { response.head.status() };
        let sent = exchange::account(over, status, request_bytes, sending.first_us);
        // A stream ends by itself: no client waits for a close.
        drop(self.service.finish(&RequestHead::new(), &self.connection, response.ticket, &sent));
        crate::request_buffers::give_head(response.head.text);
    }

    /// Whether the connection takes no more requests after this one.
    pub(super) fn is_worn(&self) -> bool {
        let timeouts = self.timeouts();
        timeouts.keepalive_ms == 0
            || self.connection.requests.get() >= timeouts.keepalive_requests
            || now_ms().saturating_sub(self.connection.accepted_ms) > self.limits.keepalive_time_ms
    }

    /// Looks at the streams that were woken; whether there were any.
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
    /// Nothing is served any more, but the client is told why.
    pub(super) fn fail(&mut self) {
        self.failed = true;
        for exchange in std::mem::take(&mut self.exchanges) {
            let (stream, sent) = (exchange.stream, self.codec.sent_so_far(exchange.stream));
            self.finish(exchange, &Over { stream, sent, complete: false, by_client: true });
        }
    }
}

impl<S: Service> Drop for Driver<S> {
    /// The connection is over: what has not left never will.
    fn drop(&mut self) {
        for (_, exchange, over) in std::mem::take(&mut self.leaving) {
            self.finish(exchange, &Over { complete: false, by_client: true, ..over });
        }
        self.fail();
    }
}
