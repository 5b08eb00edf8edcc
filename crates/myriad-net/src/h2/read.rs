//! Reading and processing of HTTP/2 frames. One read buffer per worker, so that idle connections need none.

use std::cell::RefCell;
use std::task::{Context, Poll, ready};

use myriad_http::body::BodyError;
use myriad_http::h1::{Framing, request_framing};
use myriad_http::h2::{ClientEvent, FRAME_HEADER, MAX_FRAME};
use myriad_http::{Known, Method, ParseError, RequestHead};

use super::driver::{Driver, READ_AHEAD_STREAM};
use super::exchange::{ExchangeStage, Http2Exchange};
use crate::client_timeouts::AS_MOVED;
use crate::memory_counters;
use crate::multiplex::BodyFeed;
use crate::request_body::RequestBody;
use crate::service::{Rejection, Service, ServiceOutcome};

/// Sum of receive-window increments ([`READ_AHEAD_STREAM`] bytes per stream) at which no more streams of a connection
/// get one. With a window of one round trip, uploads use the full bandwidth.
const READ_AHEAD: u32 = 4 << 20;

/// Buffers used during a read, shared by all connections of a worker.
#[derive(Default)]
struct ReadBuffers {
    buffer: Vec<u8>,
    head: RequestHead,
}

thread_local! {
    static READ_BUFFERS: RefCell<ReadBuffers> = RefCell::default();
}

impl<S: Service> Driver<S> {
    /// Reads once and processes the frames; the first call instead processes the bytes read before HTTP/2 was detected,
    /// if any. Returns false if the client has closed the connection or the read failed.
    pub(super) fn read(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        // Taken out of the cell for the call: the service runs during the read.
        let mut buffers = READ_BUFFERS.take();
        let size = self.limits.receive_buffer.max(2 * (MAX_FRAME + FRAME_HEADER));
        let size = size.max(self.partial.len() + MAX_FRAME);
        if buffers.buffer.len() < size {
            buffers.buffer.resize(size, 0);
        }
        let read = self.read_into(&mut buffers, cx);
        READ_BUFFERS.set(buffers);
        read
    }

    fn read_into(&mut self, buffers: &mut ReadBuffers, cx: &mut Context<'_>) -> Poll<bool> {
        let held = self.partial.len();
        buffers.buffer[..held].copy_from_slice(&self.partial);
        let count = if std::mem::take(&mut self.is_early) {
            0
        } else {
            let Ok(count @ 1..) = ready!(self.connection.socket.poll_read(cx, &mut buffers.buffer[held..]))
            else {
                if held > 0 || !self.exchanges.is_empty() {
                    self.service.http2_failed(&self.connection, "client prematurely closed connection");
                }
                return Poll::Ready(false);
            };
            if let Some(head) = &mut self.head {
                // `head_is_slow` checks the rate at the next poll.
                let rate = crate::client_timeouts::MinRate::NONE;
                let _ = head.1.record_transfer(count as u64, &head.0, rate, AS_MOVED);
            }
            count
        };
        let input = &buffers.buffer[..held + count];
        let mut at = 0;
        while let Some(consumed) = self.process_frame(&input[at..], &mut buffers.head) {
            at += consumed;
        }
        if self.failed {
            at = input.len();
        }
        self.partial.clear();
        self.partial.extend_from_slice(&input[at..]);
        Poll::Ready(true)
    }

    /// Processes one frame and returns its length; `None` if the frame is incomplete or the connection failed.
    fn process_frame(&mut self, input: &[u8], head: &mut RequestHead) -> Option<usize> {
        let taken = match self.codec.receive(input, head) {
            Ok(taken) => taken,
            Err(error) => {
                self.service.http2_failed(&self.connection, error.reason);
                self.abandon_exchanges();
                return None;
            }
        };
        match taken.event {
            ClientEvent::Partial => return None,
            // Finished streams are taken from the codec separately (`remove_finished`).
            ClientEvent::Nothing | ClientEvent::Reset { .. } => {}
            ClientEvent::Request { stream, end, malformed } => {
                self.begin_request(stream, end, malformed, head);
            }
            ClientEvent::Data { stream, data, end } => {
                if let Some(feed) = self.feed(stream) {
                    feed.push(&input[data]);
                    if end {
                        feed.end();
                    }
                }
            }
            ClientEvent::BodyMalformed { stream } => {
                if let Some(feed) = self.feed(stream) {
                    feed.fail(BodyError::Malformed(ParseError::InvalidLength));
                }
            }
        }
        Some(taken.consumed)
    }

    fn begin_request(
        &mut self,
        stream: u32,
        end: bool,
        malformed: Option<ParseError>,
        head: &mut RequestHead,
    ) {
        let number = self.connection.requests.get() + 1;
        self.connection.requests.set(number);
        if self.is_exhausted() {
            self.codec.shut_down();
        }
        let is_head = head.method() == Method::Head;
        let head_bytes = u64::from(head.wire_len());
        let feed = (!end && malformed.is_none()).then(|| {
            let announced = match request_framing(head) {
                Ok(Framing::Length(length)) => Some(length),
                _ => None,
            };
            let expects = head.known(Known::Expect);
            BodyFeed::new(announced, expects.is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue")))
        });
        let body = feed.as_ref().map_or_else(RequestBody::empty, RequestBody::from_feed);
        let outcome = match malformed {
            None => self.service.begin(head, &self.connection, body),
            Some(error) => self.service.reject(Rejection::Malformed(error), head, &self.connection),
        };
        let request = ((stream, number), is_head, head_bytes, feed);
        match outcome {
            ServiceOutcome::Ready(response) => self.send_ready(request, response),
            ServiceOutcome::Later(future) => {
                let (ids, is_head, head_bytes, feed) = request;
                let stage = ExchangeStage::Waiting(future);
                self.exchanges.push(Http2Exchange::new(ids, is_head, head_bytes, feed, stage));
                self.wake(stream);
            }
        }
    }

    fn feed(&mut self, stream: u32) -> Option<&BodyFeed> {
        self.exchange(stream)?.feed.as_ref()
    }

    /// Reopens the client's window by the body bytes that the service has read. Also enlarges the window once the
    /// service reads a body that is long or of unknown length ([`READ_AHEAD_STREAM`]), and sends `100 Continue` if
    /// required.
    pub(super) fn update_window(&mut self, stream: u32) {
        let (may_widen, preread) =
            (self.read_ahead < READ_AHEAD && !memory_counters::is_short(), u64::from(self.limits.preread));
        let Some(exchange) = self.exchange(stream) else { return };
        let Some(feed) = &exchange.feed else { return };
        let (released, go_on) = (feed.take_released(), feed.take_continue());
        let widens = feed.take_reading() && may_widen && feed.length().is_none_or(|length| length > preread);
        exchange.is_widened |= widens;
        if go_on {
            self.codec.respond(stream, 100, [], false);
        }
        if widens {
            self.read_ahead += READ_AHEAD_STREAM;
            self.codec.increase_window(stream, READ_AHEAD_STREAM);
        }
        if released > 0 {
            self.codec.release(stream, released);
        }
    }
}
