//! Single HTTP/2 request and its response on a shared connection.
//!
//! As over HTTP/1, polling for the response also sends the request body. At most one piece of the body is buffered
//! here.

use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use myriad_http::h2::MAX_FRAME;
use myriad_http::{Fields, ResponseHead};

use super::shared::{Shared, State};
use crate::attempts::AttemptLog;
use crate::error::{ErrorKind, OriginError, Phase};
use crate::peer::ActiveRequest;
use crate::request::{RequestPayload, Timeouts, UpstreamObserver};
use crate::timer::ProgressTimeout;
use crate::upload::take_from;

/// Next part of a response, returned by [`H2Exchange::poll`].
pub(super) enum Event {
    Head(ResponseHead),
    Data(Bytes),
    /// End of the response, with its trailers; `None` if it has none.
    End(Option<Fields>),
}

/// HTTP/2 request in progress; dropping it cancels the request.
pub(super) struct H2Exchange {
    shared: Rc<Shared>,
    /// Number of the stream on its connection.
    id: u32,
    body: RequestPayload,
    /// True once a piece of the request body has been read from its source.
    body_started: bool,
    /// True once the request is completely sent, or the response is complete or failed before.
    sent_whole: bool,
    /// Bytes of the stream that were sent to the peer and recorded in `log`.
    sent: u64,
    /// Bytes of the stream that were received from the peer and recorded in `log`.
    received: u64,
    send_stall: ProgressTimeout,
    read_stall: ProgressTimeout,
    pub(super) log: AttemptLog,
    pub(super) active: Rc<ActiveRequest>,
    pub(super) observer: Option<Rc<dyn UpstreamObserver>>,
}

impl H2Exchange {
    pub(super) fn new(
        (shared, id): (Rc<Shared>, u32),
        body: RequestPayload,
        timeouts: Timeouts,
        (log, active): (AttemptLog, Rc<ActiveRequest>),
        observer: Option<Rc<dyn UpstreamObserver>>,
    ) -> Self {
        Self {
            shared,
            id,
            body,
            body_started: false,
            sent_whole: false,
            sent: 0,
            received: 0,
            send_stall: ProgressTimeout::new(timeouts.send_ms),
            read_stall: ProgressTimeout::new(timeouts.read_ms),
            log,
            active,
            observer,
        }
    }

    /// Returns a streamed request body if no piece of it was read for sending, otherwise `None`.
    pub(super) fn take_unsent_body(&mut self) -> Option<RequestPayload> {
        let body = std::mem::replace(&mut self.body, RequestPayload::Empty);
        (!self.body_started).then_some(body)
    }

    /// Returns whether the response has been received and read completely, or its stream no longer exists.
    pub(super) fn is_complete(&self) -> bool {
        let id = self.id;
        self.shared.with_quiet(|state| state.slot(id).is_none_or(|slot| slot.is_drained()))
    }

    /// Returns whether no part of a response has been received.
    pub(super) fn is_unanswered(&self) -> bool {
        self.received == 0
    }

    /// Continues to send the request, then returns the next part of the response. Fails if the request cannot be sent,
    /// if the stream or the connection failed, or if the read timeout expires after the request was sent. `phase` is
    /// the phase that errors of the response report.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, phase: Phase) -> Poll<Result<Event, OriginError>> {
        if let Err(error) = self.send(cx) {
            return Poll::Ready(Err(error));
        }
        let id = self.id;
        let (next, received) = self.shared.with_quiet(|state| {
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
            self.read_stall.record_progress();
        }
        match next {
            Some(Ok(event)) => Poll::Ready(Ok(event)),
            Some(Err(error)) => Poll::Ready(Err(error.during(phase))),
            // As in nginx, the read timeout only runs while nothing is left to send.
            None if !self.sent_whole => {
                self.read_stall.record_progress();
                Poll::Pending
            }
            None => self.read_stall.poll_expired(cx).map(|()| Err(self.on_timeout(phase))),
        }
    }

    fn send(&mut self, cx: &mut Context<'_>) -> Result<(), OriginError> {
        if self.sent_whole {
            return Ok(());
        }
        let id = self.id;
        let mut waits_for_client = false;
        while self.shared.with_quiet(|state| state.client.wants_body(id)) {
            match self.next_piece(cx)? {
                Poll::Ready((piece, end)) => self.shared.with(|state| state.send(id, piece, end)),
                Poll::Pending => {
                    waits_for_client = true;
                    break;
                }
            }
        }
        let (sent, sending) =
            self.shared.with_quiet(|state| (state.client.sent(id), state.client.is_sending(id)));
        if sent > self.sent {
            self.log.sent(usize::try_from(sent - self.sent).unwrap_or(usize::MAX));
            self.sent = sent;
            self.send_stall.record_progress();
        }
        // The origin may send its whole response, or an error, before it has received the whole request.
        self.sent_whole = !sending || self.shared.with_quiet(|state| is_over(state, id));
        if waits_for_client || self.sent_whole {
            self.send_stall.record_progress();
            return Ok(());
        }
        match self.send_stall.poll_expired(cx) {
            Poll::Ready(()) => Err(self.on_timeout(Phase::Sending)),
            Poll::Pending => Ok(()),
        }
    }

    /// Creates the error of a timeout. The cause may be the request or the connection: active requests of the
    /// connection may complete, but further requests use another connection.
    fn on_timeout(&self, phase: Phase) -> OriginError {
        self.shared.with(|state| state.client.shut_down());
        OriginError::timeout(phase)
    }

    /// Returns the available part of the request body and whether it is the last part: up to about one frame of a
    /// stream, or all of a body in memory.
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
            self.body_started = true;
            match piece {
                None => return Ok(Poll::Ready((joined(first, &more), true))),
                Some(piece) if first.is_empty() => first = piece,
                Some(piece) => more.extend_from_slice(&piece),
            }
        }
        if first.is_empty() { Ok(Poll::Pending) } else { Ok(Poll::Ready((joined(first, &more), false))) }
    }
}

impl Drop for H2Exchange {
    fn drop(&mut self) {
        let id = self.id;
        self.shared.with(|state| state.forget(id));
    }
}

fn joined(first: Bytes, more: &[u8]) -> Bytes {
    if more.is_empty() { first } else { [&first[..], more].concat().into() }
}

/// Returns whether the response on a stream is complete or has failed, or the stream no longer exists.
fn is_over(state: &mut State, id: u32) -> bool {
    state.slot(id).is_none_or(|slot| slot.is_complete || slot.failure.is_some())
}

/// Returns the next part of the response on a stream; `None` if none is available. Received data precedes a failure.
fn next(state: &mut State, id: u32) -> Option<Result<Event, OriginError>> {
    let slot = state.slot(id)?;
    if let Some(head) = slot.heads.pop_front() {
        return Some(Ok(Event::Head(head)));
    }
    if let Some(piece) = slot.take() {
        state.release(id, piece.len());
        return Some(Ok(Event::Data(piece)));
    }
    if slot.is_complete {
        return Some(Ok(Event::End(slot.trailers.take())));
    }
    slot.failure.take().map(Err)
}
