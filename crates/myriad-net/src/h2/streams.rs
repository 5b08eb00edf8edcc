//! Streams: their pending futures, and the pieces of their responses.

use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_http::Fields;
use myriad_http::h2::ErrorCode;

use super::driver::Driver;
use super::exchange::{Exchange, Sending, Stage, fields, lines};
use super::wake::Woken;
use crate::multiplex::{Feed, Outgoing};
use crate::response::{Response, ResponseBody};
use crate::service::Service;

/// Stream and request number, whether the method is HEAD, size of the head, body.
pub(super) type Request = ((u32, u32), bool, u64, Option<Feed>);

impl<S: Service> Driver<S> {
    pub(super) fn exchange(&mut self, stream: u32) -> Option<&mut Exchange<S::Ticket>> {
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream).ok()?;
        self.exchanges.get_mut(at)
    }

    pub(super) fn take_exchange(&mut self, stream: u32) -> Option<Exchange<S::Ticket>> {
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream).ok()?;
        Some(self.exchanges.remove(at))
    }

    /// Wakes a stream, so that it is processed before the connection sleeps.
    pub(super) fn wake(&mut self, stream: u32) {
        let woken = self.woken.get_or_insert_with(|| Woken::new(&self.task));
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream);
        let Some(exchange) = at.ok().and_then(|at| self.exchanges.get_mut(at)) else { return };
        exchange.arm(woken).wake_by_ref();
    }

    /// Processes a woken stream: polls its future and updates its body.
    pub(super) fn run(&mut self, stream: u32) {
        let Some(woken) = &self.woken else { return };
        let at = self.exchanges.binary_search_by_key(&stream, |exchange| exchange.stream);
        let Some(exchange) = at.ok().and_then(|at| self.exchanges.get_mut(at)) else { return };
        let waker = exchange.arm(woken);
        if let Some(feed) = &exchange.feed {
            feed.set_driver(&waker);
        }
        let response = match &mut exchange.stage {
            Stage::Waiting(future) => future.as_mut().poll(&mut Context::from_waker(&waker)),
            Stage::Sending(sending) => {
                sending.is_parked = false;
                Poll::Pending
            }
        };
        self.tend(stream);
        // Interim responses are sent before the response, even if both are ready together.
        self.send_interims();
        if let Poll::Ready(response) = response {
            self.answer_later(stream, response);
        }
    }

    /// Sends an immediate response.
    pub(super) fn answer(&mut self, request: Request, response: Response<S::Ticket>) {
        let ((stream, number), is_head, head_bytes, feed) = request;
        let sending = self.begin_answer(stream, is_head, response);
        let stage = Stage::Sending(Box::new(sending));
        self.exchanges.push(Exchange::new((stream, number), is_head, head_bytes, feed, stage));
        if self.exchanges.last().is_some_and(|exchange| exchange.feed.is_some()) {
            self.wake(stream);
        }
    }

    fn answer_later(&mut self, stream: u32, response: Response<S::Ticket>) {
        let Some(is_head) = self.exchange(stream).map(|exchange| exchange.is_head) else { return };
        let is_late =
            |exchange: &Exchange<S::Ticket>| exchange.feed.as_ref().is_some_and(Feed::has_timed_out);
        if self.exchange(stream).is_some_and(|exchange| is_late(exchange)) {
            self.codec.blame(stream);
        }
        let sending = self.begin_answer(stream, is_head, response);
        if let Some(exchange) = self.exchange(stream) {
            exchange.stage = Stage::Sending(Box::new(sending));
        }
    }

    /// Passes the head and the available part of the body to the codec.
    fn begin_answer(
        &mut self,
        stream: u32,
        is_head: bool,
        mut response: Response<S::Ticket>,
    ) -> Sending<S::Ticket> {
        if response.close && !response.drop_connection {
            self.codec.shut_down();
        }
        let body = std::mem::replace(&mut response.body, ResponseBody::None);
        let is_bodiless = is_head || matches!(response.head.status(), 100..=199 | 204 | 304);
        if response.drop_connection || matches!(body, ResponseBody::Tunnel(_)) {
            // As nginx does for 444. A tunnel is not possible in this protocol version.
            self.codec.reset(stream, ErrorCode::Internal);
            return Sending::new(response, None, false);
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
            return Sending::new(response, None, false);
        }
        let is_held = response.postponed && matches!(body, ResponseBody::Stream(..));
        if !is_held {
            self.codec.respond(stream, response.head.status(), fields(&response.head), false);
        }
        let outgoing = Some(Outgoing::new(body, response.rate));
        Sending::new(response, outgoing, is_held)
    }

    /// Passes the pieces of bodies that it needs to the codec. Returns whether there were any.
    pub(super) fn pull(&mut self) -> bool {
        if !self.exchanges.iter().any(Exchange::is_pulling) {
            return false;
        }
        self.count_held();
        let mut moved = false;
        for at in 0..self.exchanges.len() {
            if self.exchanges[at].is_pulling() {
                moved |= self.pull_one(at);
            }
        }
        moved
    }

    /// Counts the pieces that wait for flow-control windows.
    fn count_held(&mut self) {
        let mut held = 0;
        for exchange in &self.exchanges {
            if matches!(&exchange.stage, Stage::Sending(sending) if sending.is_pulled) {
                held += self.codec.queued(exchange.stream);
            }
        }
        self.held.set(held);
    }

    fn pull_one(&mut self, at: usize) -> bool {
        let woken = self.woken.get_or_insert_with(|| Woken::new(&self.task));
        let exchange = &mut self.exchanges[at];
        let stream = exchange.stream;
        let waker = exchange.arm(woken);
        let mut cx = Context::from_waker(&waker);
        let Stage::Sending(sending) = &mut exchange.stage else { return false };
        let mut moved = false;
        while !self.held.is_full() && (sending.is_held || self.codec.wants(stream)) {
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
                    lines(&text).for_each(|(name, value)| trailers.push(name, value));
                    self.codec.send_trailers(stream, trailers);
                }
            }
        }
        moved
    }

    /// Passes on interim responses.
    pub(super) fn send_interims(&mut self) {
        for interim in self.connection.multiplex().take() {
            let waiting = self.exchanges.iter().find(|exchange| {
                exchange.number == interim.request && matches!(exchange.stage, Stage::Waiting(_))
            });
            if let Some(stream) = waiting.map(|exchange| exchange.stream) {
                self.codec.respond(stream, interim.status, lines(&interim.lines), false);
            }
        }
    }
}
