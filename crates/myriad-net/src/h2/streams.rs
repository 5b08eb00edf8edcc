//! Streams of an HTTP/2 connection: their pending futures and the pieces of their response bodies.

use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::Fields;
use myriad_http::h2::ErrorCode;

use super::driver::Driver;
use super::exchange::{ExchangeStage, Http2Exchange, PendingResponse, fields, line_fields};
use super::wake::WokenStreams;
use crate::multiplex::{BodyFeed, OutgoingBody};
use crate::response::{Response, ResponseBody};
use crate::service::Service;

/// Request of a stream: (stream number, request number), true for HEAD, size of the head in bytes, body feed.
pub(super) type StreamRequest = ((u32, u32), bool, u64, Option<BodyFeed>);

impl<S: Service> Driver<S> {
    /// Returns the exchange of a stream; `None` if the stream has none, for example because it is closed.
    pub(super) fn exchange(&mut self, stream: u32) -> Option<&mut Http2Exchange<S::ExchangeState>> {
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream).ok()?;
        self.exchanges.get_mut(at)
    }

    /// Removes the exchange of a stream and returns it; `None` if the stream has none.
    pub(super) fn take_exchange(&mut self, stream: u32) -> Option<Http2Exchange<S::ExchangeState>> {
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream).ok()?;
        Some(self.exchanges.remove(at))
    }

    /// Wakes a stream so that it is polled before the connection waits.
    pub(super) fn wake(&mut self, stream: u32) {
        let woken = self.woken.get_or_insert_with(|| WokenStreams::new(&self.task));
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream);
        let Some(exchange) = at.ok().and_then(|at| self.exchanges.get_mut(at)) else { return };
        exchange.arm(woken).wake_by_ref();
    }

    /// Processes a woken stream: polls its response future, updates its receive window, and starts to send the response
    /// if it is ready.
    pub(super) fn run(&mut self, stream: u32) {
        let Some(woken) = &self.woken else { return };
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream);
        let Some(exchange) = at.ok().and_then(|at| self.exchanges.get_mut(at)) else { return };
        let waker = exchange.arm(woken);
        if let Some(feed) = &exchange.feed {
            feed.set_driver(&waker);
        }
        let response = match &mut exchange.stage {
            ExchangeStage::Waiting(future) => future.as_mut().poll(&mut Context::from_waker(&waker)),
            ExchangeStage::Sending(sending) => {
                sending.is_parked = false;
                Poll::Pending
            }
        };
        self.update_window(stream);
        // Interim responses are sent before the response, even if both are ready together.
        self.send_interims();
        if let Poll::Ready(response) = response {
            self.send_later(stream, response);
        }
    }

    /// Starts to send a response that the service returned immediately.
    pub(super) fn send_ready(&mut self, request: StreamRequest, response: Response<S::ExchangeState>) {
        let ((stream, number), is_head, head_bytes, feed) = request;
        let sending = self.begin_response(stream, is_head, response);
        let stage = ExchangeStage::Sending(Box::new(sending));
        self.exchanges.push(Http2Exchange::new((stream, number), is_head, head_bytes, feed, stage));
        if self.exchanges.last().is_some_and(|exchange| exchange.feed.is_some()) {
            self.wake(stream);
        }
    }

    fn send_later(&mut self, stream: u32, response: Response<S::ExchangeState>) {
        let Some(is_head) = self.exchange(stream).map(|exchange| exchange.is_head) else { return };
        let is_late = |exchange: &Http2Exchange<S::ExchangeState>| {
            exchange.feed.as_ref().is_some_and(BodyFeed::has_timed_out)
        };
        if self.exchange(stream).is_some_and(|exchange| is_late(exchange)) {
            self.codec.reset_after_response(stream);
        }
        let sending = self.begin_response(stream, is_head, response);
        if let Some(exchange) = self.exchange(stream) {
            exchange.stage = ExchangeStage::Sending(Box::new(sending));
        }
    }

    /// Passes the head of a response to the codec, and its body if that is in memory and has no rate limit; the result
    /// contains the rest of the body. The head of a postponed response is delayed until a piece of its body is
    /// available. The body is omitted for a HEAD request (`is_head`) and for statuses without a body. Resets the stream
    /// for status 444 and tunnels. If the response closes the connection, sends a GOAWAY.
    fn begin_response(
        &mut self,
        stream: u32,
        is_head: bool,
        mut response: Response<S::ExchangeState>,
    ) -> PendingResponse<S::ExchangeState> {
        if response.close && !response.drop_connection {
            self.codec.shut_down();
        }
        let body = std::mem::replace(&mut response.body, ResponseBody::None);
        let is_bodiless = is_head || matches!(response.head.status(), 100..=199 | 204 | 304);
        if response.drop_connection || matches!(body, ResponseBody::Tunnel(_)) {
            // As nginx does for status 444. Tunnels are not supported in HTTP/2.
            self.codec.reset(stream, ErrorCode::Internal);
            return PendingResponse::new(response, None, false);
        }
        self.codec.limit_frames(stream, response.frame as usize);
        let at_hand: &[Bytes] = match &body {
            _ if is_bodiless => &[],
            ResponseBody::Full(bytes) => std::slice::from_ref(bytes),
            ResponseBody::Parts(parts) => parts,
            _ => &[],
        };
        let is_at_hand = is_bodiless
            || response.rate.is_none()
                && matches!(body, ResponseBody::None | ResponseBody::Full(_) | ResponseBody::Parts(_));
        if is_at_hand {
            let is_empty = at_hand.iter().all(Bytes::is_empty);
            self.codec.respond(stream, response.head.status(), fields(&response.head), is_empty);
            if !is_empty {
                for (at, part) in at_hand.iter().enumerate() {
                    self.codec.send(stream, part.clone(), at + 1 == at_hand.len());
                }
            }
            return PendingResponse::new(response, None, false);
        }
        let is_held = response.postponed && matches!(body, ResponseBody::Stream(..));
        if !is_held {
            self.codec.respond(stream, response.head.status(), fields(&response.head), false);
        }
        let outgoing = Some(OutgoingBody::new(body, response.rate));
        PendingResponse::new(response, outgoing, is_held)
    }

    /// Fetches pieces of response bodies and passes them to the codec as its windows allow. Returns true if there was
    /// progress.
    pub(super) fn pull_bodies(&mut self) -> bool {
        if !self.exchanges.iter().any(Http2Exchange::is_pulling) {
            return false;
        }
        self.count_buffered();
        let mut moved = false;
        for at in 0..self.exchanges.len() {
            if self.exchanges[at].is_pulling() {
                moved |= self.pull_body(at);
            }
        }
        moved
    }

    /// Counts the fetched bytes that wait for flow-control windows.
    fn count_buffered(&mut self) {
        let mut held = 0;
        for exchange in &self.exchanges {
            if matches!(&exchange.stage, ExchangeStage::Sending(sending) if sending.is_pulled) {
                held += self.codec.queued(exchange.stream);
            }
        }
        self.held.set(held);
    }

    fn pull_body(&mut self, at: usize) -> bool {
        let woken = self.woken.get_or_insert_with(|| WokenStreams::new(&self.task));
        let exchange = &mut self.exchanges[at];
        let stream = exchange.stream;
        let waker = exchange.arm(woken);
        let mut cx = Context::from_waker(&waker);
        let ExchangeStage::Sending(sending) = &mut exchange.stage else { return false };
        let mut moved = false;
        while !self.held.is_full() && (sending.is_held || self.codec.wants_body(stream)) {
            let Some(outgoing) = &mut sending.outgoing else { return moved };
            let piece = match outgoing.poll_piece(self.codec.room(stream), &mut cx) {
                Poll::Pending => {
                    sending.is_parked = true;
                    return moved;
                }
                Poll::Ready(piece) => piece,
            };
            moved = true;
            let head = &sending.response.head;
            if std::mem::take(&mut sending.is_held) && !matches!(piece, Some(Err(_))) {
                sending.first_us = crate::clock::now_us();
                self.codec.respond(stream, head.status(), fields(head), false);
            }
            match piece {
                Some(Ok(piece)) => {
                    let is_last = outgoing.is_over() && sending.response.trailers.is_none();
                    self.held.add(piece.len());
                    self.codec.send(stream, piece, is_last);
                    if is_last {
                        sending.outgoing = None;
                    }
                }
                Some(Err(_)) => {
                    sending.outgoing = None;
                    self.codec.reset(stream, ErrorCode::Internal);
                }
                None => {
                    sending.outgoing = None;
                    let mut text = Vec::new();
                    if let Some(write) = sending.response.trailers {
                        write(&mut sending.response.ticket, &mut text);
                    }
                    let mut trailers = Fields::new();
                    line_fields(&text).for_each(|(name, value)| trailers.push(name, value));
                    self.codec.send_trailers(stream, trailers);
                }
            }
        }
        moved
    }

    /// Passes queued interim responses to the codec. Those of requests that already have a response are dropped.
    pub(super) fn send_interims(&mut self) {
        for interim in self.connection.multiplex().take() {
            let waiting = self.exchanges.iter().find(|exchange| {
                exchange.number == interim.request && matches!(exchange.stage, ExchangeStage::Waiting(_))
            });
            if let Some(stream) = waiting.map(|exchange| exchange.stream) {
                self.codec.respond(stream, interim.status, line_fields(&interim.lines), false);
            }
        }
    }
}
