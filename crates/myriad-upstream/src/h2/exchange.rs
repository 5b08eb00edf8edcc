//! One request and its answer on a connection that others share.
//!
//! As over HTTP/1, whoever polls for the answer drives the request body up, and at most one piece of it waits here.

use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use myriad_http::h2::MAX_FRAME;
use myriad_http::{Fields, ResponseHead};

use super::shared::{Shared, State};
use crate::attempts::AttemptLog;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::peer::Active;
use crate::request::{Observer, RequestPayload, Timeouts};
use crate::timer::Stall;
use crate::upload::take_from;

/// What comes next of an answer.
pub(super) enum Event {
    Head(ResponseHead),
    Data(Bytes),
    /// The answer is complete, with what is behind its body.
    End(Option<Fields>),
}

/// A request under way. Dropped, it is cancelled.
pub(super) struct Exchange {
    shared: Rc<Shared>,
    id: u32,
    body: RequestPayload,
    /// Something of the body was sent.
    touched: bool,
    /// The request is on its way to the last byte.
    sent_whole: bool,
    sent: u64,
    received: u64,
    send_stall: Stall,
    read_stall: Stall,
    pub(super) log: AttemptLog,
    pub(super) active: Rc<Active>,
    pub(super) observer: Option<Rc<dyn Observer>>,
}

impl Exchange {
    pub(super) fn new(
        (shared, id): (Rc<Shared>, u32),
        body: RequestPayload,
        timeouts: Timeouts,
        (log, active): (AttemptLog, Rc<Active>),
        observer: Option<Rc<dyn Observer>>,
    ) -> Self {
        Self {
            shared,
            id,
            body,
            touched: false,
            sent_whole: false,
            sent: 0,
            received: 0,
            send_stall: Stall::new(timeouts.send_ms),
            read_stall: Stall::new(timeouts.read_ms),
            log,
            active,
            observer,
        }
    }

    /// The request body, where nothing of it was sent.
    pub(super) fn untouched(&mut self) -> Option<RequestPayload> {
        let body = std::mem::replace(&mut self.body, RequestPayload::Empty);
        (!self.touched).then_some(body)
    }

    /// Whether all of the answer has been taken.
    pub(super) fn has_ended(&self) -> bool {
        let id = self.id;
        self.shared.touch(|state| state.slot(id).is_none_or(|slot| slot.is_drained()))
    }

    /// Whether nothing of an answer came.
    pub(super) fn is_unanswered(&self) -> bool {
        self.received == 0
    }

    /// Moves the request on, then takes what comes next of the answer.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, phase: Phase) -> Poll<Result<Event, OriginError>> {
        if let Err(error) = self.send(cx) {
            return Poll::Ready(Err(error));
        }
        let id = self.id;
        let (next, received) = self.shared.touch(|state| {
            let next = next(state, id);
            let slot = state.slot(id);
            if let (None, Some(slot)) = (&next, slot) {
                slot.waker = Some(cx.waker().clone());
            }
            (next, state.slot(id).map_or(0, |slot| slot.received))
        });
        if received > self.received {
            self.log.received(usize::try_from(received - self.received).unwrap_or(usize::MAX));
            self.received = received;
            self.read_stall.moved();
        }
        match next {
            Some(Ok(event)) => Poll::Ready(Ok(event)),
            Some(Err(error)) => Poll::Ready(Err(error.during(phase))),
            // The read time-out counts only once there is nothing left to send, as in nginx.
            None if !self.sent_whole => {
                self.read_stall.moved();
                Poll::Pending
            }
            None => self.read_stall.poll_expired(cx).map(|()| Err(self.late(phase))),
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), OriginError> {
        if self.sent_whole {
            return Ok(());
        }
        let id = self.id;
        let mut waits_for_client = false;
        while self.shared.touch(|state| state.client.wants(id)) {
            match self.next_piece(cx)? {
                Poll::Ready((piece, end)) => self.shared.with(|state| state.send(id, piece, end)),
                Poll::Pending => {
                    waits_for_client = true;
                    break;
                }
            }
        }
        let (sent, sending) = self.shared.touch(|state| (state.client.sent(id), state.client.is_sending(id)));
        if sent > self.sent {
            self.log.sent(usize::try_from(sent - self.sent).unwrap_or(usize::MAX));
            self.sent = sent;
            self.send_stall.moved();
        }
        // The origin may have answered, or given up, without all of the request.
        self.sent_whole = !sending || self.shared.touch(|state| is_over(state, id));
        if waits_for_client || self.sent_whole {
            self.send_stall.moved();
            return Ok(());
        }
        match self.send_stall.poll_expired(cx) {
            Poll::Ready(()) => Err(self.late(Phase::Sending)),
            Poll::Pending => Ok(()),
        }
    }

    /// The origin is silent for too long. Whether it is the request or the connection that it has forgotten cannot be told: those that are
    /// under way may end, and further ones have another connection.
    fn late(&self, phase: Phase) -> OriginError {
        self.shared.with(|state| state.client.shut_down());
        OriginError::timeout(phase)
    }

    /// What is ready of the request body, up to about a frame, and whether it is the last.
    fn next_piece(&mut self, cx: &mut Context<'_>) -> Result<Poll<(Bytes, bool)>, OriginError> {
        let (body, left) = match &mut self.body {
            RequestPayload::Empty => return Ok(Poll::Ready((Bytes::new(), true))),
            RequestPayload::Bytes(bytes) => return Ok(Poll::Ready((std::mem::take(bytes), true))),
            RequestPayload::Again(make, length) => {
                self.body = RequestPayload::Stream(make(), Some(*length));
                return self.next_piece(cx);
            }
            RequestPayload::Stream(body, left) => (body, left),
        };
        let failed = |error| {
            let what = format!("request body failed ({error})");
            OriginError::new(ErrorKind::RequestBody(error), Phase::Sending, what)
        };
        let (mut first, mut more) = (Bytes::new(), BytesMut::new());
        while first.len() + more.len() < MAX_FRAME {
            let Poll::Ready(piece) = body.as_mut().poll_data(cx) else { break };
            let piece = piece.transpose().map_err(failed)?;
            if let Some(error) = take_from(left, piece.as_ref()) {
                return Err(failed(error));
            }
            self.touched = true;
            match piece {
                None => return Ok(Poll::Ready((joined(first, &more), true))),
                Some(piece) if first.is_empty() => first = piece,
                Some(piece) => more.extend_from_slice(&piece),
            }
        }
        if first.is_empty() { Ok(Poll::Pending) } else { Ok(Poll::Ready((joined(first, &more), false))) }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let id = self.id;
        self.shared.with(|state| state.forget(id));
    }
}

fn joined(first: Bytes, more: &[u8]) -> Bytes {
    if more.is_empty() { first } else { [&first[..], more].concat().into() }
}

/// Whether the answer is complete, or lost.
fn is_over(state: &mut State, id: u32) -> bool {
    state.slot(id).is_none_or(|slot| slot.ended || slot.failure.is_some())
}

/// What comes next on a stream; what came is taken before a failure is told.
fn next(state: &mut State, id: u32) -> Option<Result<Event, OriginError>> {
    let slot = state.slot(id)?;
    if let Some(head) = slot.heads.pop_front() {
        return Some(Ok(Event::Head(head)));
    }
    if let Some(piece) = slot.take() {
        state.release(id, piece.len());
        return Some(Ok(Event::Data(piece)));
    }
    if slot.ended {
        return Some(Ok(Event::End(slot.trailers.take())));
    }
    slot.failure.take().map(Err)
}
