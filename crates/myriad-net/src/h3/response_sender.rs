//! Writing of a response into an HTTP/3 stream.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::h3::{self, QpackEncoder};
use quinn_proto::{Connection as Quic, StreamId, WriteError};

use crate::client_timeouts::{AS_MOVED, ClientTimeLimits, ClientTimeouts, TimeoutReason};
use crate::deadline::Deadline;
use crate::multiplex::OutgoingBody;
use crate::request_buffers;
use crate::response::{Response, ResponseBody, SentReport};

/// Number of queued response bytes at which no more pieces are pulled from the body.
const GATHER: usize = 64 * 1024;
/// Number of bytes up to which a postponed response is buffered: the default of nginx's `postpone_output`.
const POSTPONED: usize = 1460;

/// Reason why no more of a response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResponseEnd {
    /// The whole response was written to the stream.
    Whole,
    /// The source of the body (such as the upstream) failed.
    Broken,
    /// The client has cancelled the response.
    Cancelled,
    /// The stream accepted no bytes for `send_timeout`, because the client did not read.
    TimedOut,
    /// The client was slower than `client_min_rate`.
    TooSlow,
}

/// Response with its queued bytes and the rest of its body.
pub(super) struct ResponseSender<T> {
    pub(super) response: Response<T>,
    body: OutgoingBody,
    queue: VecDeque<Bytes>,
    /// Number of bytes in `queue`.
    queued: usize,
    /// Set if the body length is known, so that the whole body is one DATA frame whose header was queued with the head
    /// (none for an empty body).
    sized: bool,
    /// Set once the body is complete or has failed.
    is_exhausted: bool,
    /// Set if the source of the body failed.
    broken: bool,
    /// Set while the first bytes of a postponed response are delayed until [`POSTPONED`] bytes or the whole response
    /// are queued.
    postponed: bool,
    /// Size in bytes of the response head with its frame header, and of interim responses queued before it.
    head: u64,
    /// Number of bytes queued besides the head and the body: headers of DATA frames, and trailers.
    framing: u64,
    /// Number of bytes that the stream has accepted.
    written: u64,
    /// Time at which the stream accepted the first byte, in microseconds of the process clock; 0 before.
    first_us: u64,
    /// Deadline and measurement of waits for the client; `None` until the first wait.
    patience: Option<Box<(Deadline, ClientTimeouts)>>,
    trailers: bool,
}

impl<T> ResponseSender<T> {
    /// Creates the sender of a response and queues its head. `head_only` is true for HEAD requests.
    pub(super) fn new(mut response: Response<T>, head_only: bool, scratch: &mut EncodeBuffers) -> Self {
        let status = response.head.status();
        let bodiless = head_only || matches!(status, 100..=199 | 204 | 304);
        let body = std::mem::replace(&mut response.body, ResponseBody::None);
        let body = if bodiless { ResponseBody::None } else { body };
        let length = body.length();
        let mut out = Vec::with_capacity(response.head.fields().len() + 16);
        h3::response_head(status, response.head.iter(), &mut scratch.encoder, &mut scratch.section, &mut out);
        request_buffers::return_head(std::mem::take(&mut response.head.text));
        let head = out.len() as u64;
        if let Some(length @ 1..) = length {
            h3::data_frame(length, &mut out);
        }
        let framing = out.len() as u64 - head;
        let rate = response.rate.filter(|_| !bodiless);
        let mut sending = Self {
            postponed: response.postponed && !bodiless,
            trailers: response.trailers.is_some() && !bodiless && length.is_none(),
            response,
            body: OutgoingBody::new(body, rate),
            queue: VecDeque::with_capacity(4),
            queued: 0,
            sized: length.is_some(),
            is_exhausted: length == Some(0),
            broken: false,
            head,
            framing,
            written: 0,
            first_us: 0,
            patience: None,
        };
        sending.push(Bytes::from(out));
        sending
    }

    /// Queues the unsent rest of an interim (1xx) response before the head.
    pub(super) fn push_front(&mut self, bytes: Bytes) {
        self.head += bytes.len() as u64;
        self.queued += bytes.len();
        self.queue.push_front(bytes);
    }

    fn push(&mut self, bytes: Bytes) {
        self.queued += bytes.len();
        self.queue.push_back(bytes);
    }

    /// Writes as much as the stream accepts. Ready with the reason once no more of the response will be sent.
    pub(super) fn poll(&mut self, quic: &mut Quic, id: StreamId, cx: &mut Context<'_>) -> Poll<ResponseEnd> {
        loop {
            self.fill(cx);
            if self.postponed && (self.queued >= POSTPONED || self.is_exhausted) {
                self.postponed = self.broken && self.written == 0;
                if self.postponed {
                    return Poll::Ready(ResponseEnd::Broken);
                }
            }
            if self.queued == 0 || self.postponed {
                if self.is_exhausted {
                    return Poll::Ready(self.finish(quic, id));
                }
                return if self.record_written(0) {
                    Poll::Ready(ResponseEnd::TooSlow)
                } else {
                    Poll::Pending
                };
            }
            match quic.send_stream(id).write_chunks(self.queue.make_contiguous()) {
                Ok(written) => {
                    self.queue.drain(..written.chunks);
                    self.queued -= written.bytes;
                    if self.written == 0 {
                        self.first_us = crate::clock::now_us();
                    }
                    self.written += written.bytes as u64;
                    if self.record_written(written.bytes as u64) {
                        return Poll::Ready(ResponseEnd::TooSlow);
                    }
                }
                Err(WriteError::Blocked) => return self.poll_timeouts(cx),
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    return Poll::Ready(ResponseEnd::Cancelled);
                }
            }
        }
    }

    /// Waits for the client to read, so that the stream accepts bytes again. Ready if the client exceeds `send_timeout`
    /// or is slower than `client_min_rate`.
    fn poll_timeouts(&mut self, cx: &mut Context<'_>) -> Poll<ResponseEnd> {
        let timeouts = &self.response.timeouts;
        let terms = ClientTimeLimits { silence_ms: timeouts.send_ms, rate: timeouts.min_rate };
        let (deadline, patience) = &mut **self.patience.get_or_insert_default();
        patience.poll(deadline, terms, AS_MOVED, cx).map(|lapse| match lapse {
            TimeoutReason::Idle => ResponseEnd::TimedOut,
            TimeoutReason::BelowMinRate => ResponseEnd::TooSlow,
        })
    }

    /// Records `bytes` bytes written into the stream and finishes the wait for the client. Returns true if the client
    /// was slower than the minimum rate.
    fn record_written(&mut self, bytes: u64) -> bool {
        let rate = self.response.timeouts.min_rate;
        let waited = self.patience.as_deref_mut();
        waited.is_some_and(|(deadline, patience)| patience.record_transfer(bytes, deadline, rate, AS_MOVED))
    }

    fn finish(&mut self, quic: &mut Quic, id: StreamId) -> ResponseEnd {
        if self.broken {
            return ResponseEnd::Broken;
        }
        match quic.send_stream(id).finish() {
            Ok(()) => ResponseEnd::Whole,
            Err(_) => ResponseEnd::Cancelled,
        }
    }

    /// Pulls pieces of the body until [`GATHER`] bytes are queued, no piece is ready, or the body is complete or has
    /// failed. After a complete body, queues the trailers.
    fn fill(&mut self, cx: &mut Context<'_>) {
        while !self.is_exhausted && self.queued < GATHER {
            match self.body.poll_piece(GATHER - self.queued, cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(piece))) => {
                    if !self.sized {
                        let mut frame = Vec::with_capacity(9);
                        h3::data_frame(piece.len() as u64, &mut frame);
                        self.framing += frame.len() as u64;
                        self.push(Bytes::from(frame));
                    }
                    self.push(piece);
                }
                Poll::Ready(Some(Err(_))) => (self.is_exhausted, self.broken) = (true, true),
                Poll::Ready(None) => {
                    self.is_exhausted = true;
                    self.push_trailers();
                }
            }
        }
    }

    fn push_trailers(&mut self) {
        let Some(write) = self.response.trailers.filter(|_| self.trailers) else { return };
        let mut lines = Vec::new();
        write(&mut self.response.ticket, &mut lines);
        if !lines.is_empty() {
            let mut frame = Vec::new();
            h3::trailers(crate::response::fields(&lines), &mut frame);
            self.framing += frame.len() as u64;
            self.push(Bytes::from(frame));
        }
    }

    /// Creates the report of the response for the service.
    pub(super) fn sent_report(&self, ended: ResponseEnd) -> SentReport {
        let head = self.head.min(self.written);
        SentReport {
            status: self.response.head.status(),
            head_bytes: head,
            body_bytes: (self.written - head).saturating_sub(self.framing),
            bytes: self.written,
            complete: ended == ResponseEnd::Whole,
            keep_alive: true,
            first_us: self.first_us,
            ..SentReport::default()
        }
    }
}

/// Buffers for encoding response heads, reused by all responses of a listener.
#[derive(Default)]
pub(super) struct EncodeBuffers {
    encoder: QpackEncoder,
    section: Vec<u8>,
}
