//! State of an HTTP/2 connection to an origin, shared by its driver (which owns the socket) and its exchanges.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes, BytesMut};
use myriad_http::h2::client::{Http2Client, OriginEvent, RequestFailure};
use myriad_http::h2::{FRAME_HEADER, MAX_FRAME};
use myriad_http::{Fields, Method, ResponseHead};
use rustix::net::RecvFlags;
use tokio::io::AsyncWrite;

use super::liveness::Liveness;
use crate::clock;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::stream::CountedStream;

/// Flow-control window of an HTTP/2 stream: number of response body bytes accepted before the consumer reads them.
const WINDOW: u32 = 128 * 1024;

/// Capacity in bytes reserved for a read from an HTTP/2 connection; sufficient for a whole frame.
const READ_SIZE: usize = 32 * 1024;

/// Maximum number of bytes queued for a write to an HTTP/2 connection.
const MAX_GATHERED: usize = 64 * 1024;

/// Size in bytes below which received body pieces are copied: a piece that shares the read buffer would prevent that
/// the buffer is freed.
const COPY_BELOW: usize = 2048;

/// Maximum number of reads after the first per poll of the connection's driver, so that other tasks can run.
const READS: usize = 16;

/// Received parts of the response on a stream, with the waker of its exchange.
#[derive(Default)]
pub(super) struct StreamSlot {
    /// Response heads that the exchange has not taken yet, interim responses first.
    pub(super) heads: VecDeque<ResponseHead>,
    data: VecDeque<Bytes>,
    /// Short body pieces after those in `data`, concatenated.
    tail: BytesMut,
    pub(super) trailers: Option<Fields>,
    /// True once the response is complete.
    pub(super) is_complete: bool,
    pub(super) failure: Option<OriginError>,
    /// Number of bytes of the response frames received on the stream.
    pub(super) received: u64,
    /// True if the request may be sent again on another connection while no part of its response was received: it is
    /// idempotent, has no body, and was sent on a connection that had answered a request.
    may_move: bool,
    pub(super) waker: Option<Waker>,
}

impl StreamSlot {
    fn push(&mut self, piece: Bytes) {
        if piece.len() < COPY_BELOW {
            return self.tail.extend_from_slice(&piece);
        }
        if !self.tail.is_empty() {
            self.data.push_back(self.tail.split().freeze());
        }
        self.data.push_back(piece);
    }

    /// Removes and returns the next piece of the response body; `None` if none is available.
    pub(super) fn take(&mut self) -> Option<Bytes> {
        let held = &mut self.tail;
        self.data.pop_front().or_else(|| (!held.is_empty()).then(|| held.split().freeze()))
    }

    /// Returns whether the response is complete and the exchange has taken all of it.
    pub(super) fn is_drained(&self) -> bool {
        self.is_complete && self.data.is_empty() && self.tail.is_empty() && self.trailers.is_none()
    }

    /// Returns whether no part of the response has been received, and the request has not failed.
    fn is_unanswered(&self) -> bool {
        self.received == 0 && !self.is_complete && self.failure.is_none()
    }

    fn wake(&mut self) {
        self.waker.take().into_iter().for_each(Waker::wake);
    }
}

/// State of an HTTP/2 connection and its streams.
pub(super) struct State {
    pub(super) client: Http2Client,
    /// Connection; `None` once it is closed.
    connection: Option<CountedStream>,
    input: BytesMut,
    slots: Vec<(u32, StreamSlot)>,
    driver: Option<Waker>,
    pub(super) liveness: Liveness,
    /// Wakers of requests that wait for a frame after a PING.
    waiting: Vec<Waker>,
    /// Number of requests sent on the connection.
    pub(super) requests: u32,
    /// Creation time, in the units of [`clock::now`].
    pub(super) created_at: u64,
    /// Start of the idle time, in the units of [`clock::now`]; `None` with active requests.
    pub(super) idle_since: Option<u64>,
}

/// State of an HTTP/2 connection, shared by its driver and its exchanges.
pub(super) struct Shared(RefCell<State>);

impl Shared {
    pub(super) fn new(connection: CountedStream, now: u64) -> Self {
        Self(RefCell::new(State {
            client: Http2Client::new(WINDOW),
            connection: Some(connection),
            input: BytesMut::new(),
            slots: Vec::new(),
            driver: None,
            liveness: Liveness::new(now),
            waiting: Vec::new(),
            requests: 0,
            created_at: now,
            idle_since: None,
        }))
    }

    /// Changes the state with `act` and wakes the driver.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.0.borrow_mut();
        let result = act(&mut state);
        state.driver.take().into_iter().for_each(Waker::wake);
        result
    }

    /// Changes the state with `act` without waking the driver.
    pub(super) fn with_quiet<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.borrow_mut())
    }

    /// Reads the state with `look` without waking the driver.
    pub(super) fn read_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.borrow())
    }

    /// Writes and reads without waiting, with at most [`READS`] + 1 reads. Called by the driver.
    pub(super) fn drive(&self, cx: &mut Context<'_>) -> Drive {
        let mut state = self.0.borrow_mut();
        state.driver = Some(cx.waker().clone());
        state.drive(cx)
    }
}

/// State of a connection after [`Shared::drive`].
pub(super) enum Drive {
    /// Requests are active.
    Busy,
    /// No request is active.
    Idle,
    /// The connection is closed.
    Closed,
}

impl State {
    /// Opens a stream and queues the head of a request; `None` if the connection cannot carry another request. `end` is
    /// true if no body follows; `most_head` is the maximum size of the response head in bytes.
    pub(super) fn open<'a>(
        &mut self,
        method: Method,
        fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
        end: bool,
        most_head: usize,
    ) -> Option<u32> {
        self.connection.as_ref()?;
        let id = self.client.open(method, fields, end, most_head)?;
        let may_move = end && method.is_idempotent() && self.liveness.has_served();
        self.slots.push((id, StreamSlot { may_move, ..StreamSlot::default() }));
        self.liveness.requested(clock::now());
        self.requests += 1;
        self.idle_since = None;
        Some(id)
    }

    /// Queues a piece of the request body on stream `id`; `end` is true for the last piece.
    pub(super) fn send(&mut self, id: u32, piece: Bytes, end: bool) {
        self.liveness.uploaded();
        self.client.send(id, piece, end);
    }

    /// Queues a PING if the codec permits another PING now.
    pub(super) fn send_ping(&mut self, now: u64) {
        if self.client.send_ping() { self.liveness.ping_sent(now) } else { self.liveness.ping_skipped() }
    }

    /// Handles a dead connection, which gets no more requests.
    ///
    /// Requests that may be sent again and of whose responses no part has arrived fail, so that they are retried. All
    /// other requests wait until their timeouts, because an overloaded origin may still respond.
    pub(super) fn give_up(&mut self) {
        self.liveness.give_up();
        self.client.shut_down();
        let lost = self.slots.iter_mut().filter(|(_, slot)| slot.may_move && slot.is_unanswered());
        for (_, slot) in lost {
            let what = "upstream sends no data and does not respond to PING";
            slot.failure = Some(OriginError::new(ErrorKind::Silent, Phase::ReadingHead, what));
            slot.wake();
        }
        self.waiting.drain(..).for_each(Waker::wake);
    }

    /// Returns the time until which a new request must wait for a frame after a PING; `None` if it need not wait.
    ///
    /// Sends a PING on an idle connection that was silent for 5 s; with `is_implicit`, also one after the first
    /// response.
    pub(super) fn holds_until(&mut self, now: u64, is_implicit: bool) -> Option<u64> {
        if self.slots.is_empty() {
            if self.liveness.is_old(now) {
                self.send_ping(now);
                self.driver.take().into_iter().for_each(Waker::wake);
            }
            self.probe_idle(now, is_implicit);
        }
        self.liveness.holds_until()
    }

    /// Sends a PING if `is_implicit` is set ([`KeepAlive::is_implicit`](crate::KeepAlive::is_implicit)) and the origin
    /// is not known to read further input after its first response.
    pub(super) fn probe_idle(&mut self, now: u64, is_implicit: bool) {
        if is_implicit && !self.liveness.reads_on(self.requests) {
            self.send_ping(now);
            self.driver.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Returns ready once a frame has been received after the PING, or once the connection is closed.
    pub(super) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.connection.is_none() || self.liveness.holds_until().is_none() {
            return Poll::Ready(());
        }
        self.waiting.push(cx.waker().clone());
        Poll::Pending
    }

    /// Returns whether the connection can carry another stream.
    pub(super) fn has_room(&self) -> bool {
        self.connection.is_some() && self.client.has_room()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.connection.is_none()
    }

    /// Returns the slot of stream `id`; `None` if the stream has none, because it is closed or never existed.
    pub(super) fn slot(&mut self, id: u32) -> Option<&mut StreamSlot> {
        let at = self.slots.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.slots.get_mut(at).map(|(_, slot)| slot)
    }

    /// Records that the consumer has taken `count` body bytes from stream `id`, which extends its flow-control window.
    pub(super) fn release(&mut self, id: u32, count: usize) {
        self.client.release(id, count);
        if !self.client.output().is_empty() {
            self.driver.take().into_iter().for_each(Waker::wake);
        }
    }

    /// Cancels the request on stream `id` unless it is complete, and drops the remaining data of the stream.
    pub(super) fn forget(&mut self, id: u32) {
        self.client.cancel(id);
        self.slots.retain(|(other, _)| *other != id);
    }

    /// Returns whether data or the end of the stream is pending on the socket; true if the connection is closed.
    pub(super) fn has_pending_input(&self) -> bool {
        let Some(connection) = &self.connection else { return true };
        let mut byte = [0];
        let peeked =
            rustix::net::recv(connection.stream.as_fd(), &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(peeked, Err(rustix::io::Errno::AGAIN))
    }

    /// Closes the connection immediately. `why` becomes the failure of all incomplete requests that have not failed
    /// yet.
    pub(super) fn close(&mut self, why: &OriginError) {
        self.connection = None;
        self.input = BytesMut::new();
        for (_, slot) in &mut self.slots {
            if !slot.is_complete {
                slot.failure.get_or_insert_with(|| why.clone());
            }
            slot.wake();
        }
        self.waiting.drain(..).for_each(Waker::wake);
        self.driver.take().into_iter().for_each(Waker::wake);
    }

    fn drive(&mut self, cx: &mut Context<'_>) -> Drive {
        for turn in 0.. {
            if self.connection.is_none() {
                return Drive::Closed;
            }
            if let Err(error) = self.write(cx) {
                self.close(&OriginError::io("writev", &error, Phase::Sending));
                return Drive::Closed;
            }
            match self.read(cx) {
                Ok(true) if turn == READS => {
                    cx.waker().wake_by_ref();
                    break;
                }
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.close(&error);
                    return Drive::Closed;
                }
            }
        }
        if self.slots.is_empty() { Drive::Idle } else { Drive::Busy }
    }

    /// Writes as much as the socket accepts, then wakes exchanges that can send more.
    fn write(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        let mut wrote = false;
        loop {
            self.client.schedule(MAX_GATHERED);
            let output = self.client.output();
            if output.is_empty() {
                let _ = Pin::new(&mut connection.stream).poll_flush(cx)?;
                break;
            }
            let mut slices = [IoSlice::new(&[]); 16];
            let count = output.slices(&mut slices);
            match Pin::new(&mut connection.stream).poll_write_vectored(cx, &slices[..count]) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(written)) => output.advance(written),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => break,
            }
            wrote = true;
        }
        if wrote {
            self.wake_senders();
        }
        Ok(())
    }

    /// Wakes exchanges whose request body can be sent further, because the codec accepts more data.
    fn wake_senders(&mut self) {
        for (id, slot) in &mut self.slots {
            if self.client.wants_body(*id) {
                slot.wake();
            }
        }
    }

    /// Reads once and dispatches the received frames to their streams; returns `false` if no data was available or the
    /// connection is closed. Fails if the origin closes the connection or sends invalid HTTP/2.
    fn read(&mut self, cx: &mut Context<'_>) -> Result<bool, OriginError> {
        let Some(connection) = &mut self.connection else { return Ok(false) };
        if self.input.capacity() - self.input.len() < FRAME_HEADER + MAX_FRAME {
            self.input.reserve(READ_SIZE);
        }
        match connection.stream.poll_fill(cx, &mut self.input) {
            Poll::Pending => return Ok(false),
            Poll::Ready(Ok(0)) => return Err(OriginError::closed(Phase::ReadingHead)),
            Poll::Ready(Ok(_)) => {}
            Poll::Ready(Err(error)) => return Err(OriginError::io("recv", &error, Phase::ReadingHead)),
        }
        let (mut frames, mut answers) = (false, false);
        loop {
            let got = match self.client.receive(&self.input) {
                Ok(got) => got,
                Err(error) => {
                    let _ = self.write(cx);
                    let what = format!("upstream sent invalid http2 ({error})");
                    return Err(OriginError::invalid(Phase::ReadingHead, what));
                }
            };
            if matches!(got.event, OriginEvent::Partial) {
                break;
            }
            frames = true;
            answers |= !matches!(got.event, OriginEvent::Nothing);
            let frame = self.input.split_to(got.consumed);
            self.dispatch(frame, got.event);
            self.fail_lost_requests();
        }
        if frames {
            self.frames_received(answers);
        }
        self.wake_senders();
        if self.input.is_empty() && self.slots.is_empty() {
            self.input = BytesMut::new();
        }
        Ok(true)
    }

    /// Updates the liveness detection after received frames; `answers` is true if they include a part of a response.
    fn frames_received(&mut self, answers: bool) {
        let waits = self.slots.iter().any(|(_, slot)| slot.is_unanswered());
        self.liveness.frame_received(clock::now(), answers, waits);
        self.waiting.drain(..).for_each(Waker::wake);
    }

    fn dispatch(&mut self, frame: BytesMut, answered: OriginEvent) {
        let length = frame.len() as u64;
        let (id, end) = match answered {
            OriginEvent::Partial | OriginEvent::Nothing => return,
            OriginEvent::Head { stream, head, end } => {
                if let Some(slot) = self.slot(stream) {
                    slot.heads.push_back(*head);
                }
                (stream, end)
            }
            OriginEvent::Data { stream, data, end } => {
                let mut piece = frame.freeze();
                piece.truncate(data.end);
                piece.advance(data.start);
                if let Some(slot) = self.slot(stream) {
                    slot.push(piece);
                }
                (stream, end)
            }
            OriginEvent::Trailers { stream, fields } => {
                if let Some(slot) = self.slot(stream) {
                    slot.trailers = Some(*fields);
                }
                (stream, true)
            }
        };
        if let Some(slot) = self.slot(id) {
            slot.is_complete |= end;
            slot.received += length;
            slot.wake();
        }
    }

    /// Stores failures of requests reported by the codec in their streams, and wakes their exchanges.
    fn fail_lost_requests(&mut self) {
        while let Some((id, lost)) = self.client.next_failed() {
            if let Some(slot) = self.slot(id) {
                slot.failure = Some(failure(lost));
                slot.wake();
            }
        }
    }
}

/// Converts the failure of an HTTP/2 request to an error; uses nginx's message if nginx has an equivalent.
fn failure(lost: RequestFailure) -> OriginError {
    let phase = Phase::ReadingHead;
    match lost {
        RequestFailure::Refused => {
            OriginError::new(ErrorKind::Refused, phase, "upstream refused the request")
        }
        RequestFailure::Reset(code) => {
            OriginError::invalid(phase, format!("upstream rejected request with error {code}"))
        }
        RequestFailure::TooLarge => {
            OriginError::new(ErrorKind::TooLargeHead, phase, "upstream sent too big header")
        }
        RequestFailure::Malformed(error) => {
            OriginError::invalid(phase, format!("upstream sent invalid header ({error})"))
        }
        RequestFailure::Broken(what) => {
            OriginError::invalid(phase, format!("upstream sent invalid http2 ({what})"))
        }
    }
}
