//! Calls of the service for the HTTP/3 requests of a client, and sending of its responses on their streams.

use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use myriad_http::h3;
use myriad_http::{Known, Method, ParseError};
use quinn_proto::StreamId;

use super::super::request::{ClientSide, RequestState};
use super::super::response_sender::{ResponseEnd, ResponseSender};
use super::read::code_number;
use super::{Http3ErrorCode, HubContext, QuicClient};
use crate::multiplex::BodyFeed;
use crate::request_body::RequestBody;
use crate::response::{Response, ResponseBody, SentReport, fields};
use crate::service::{Rejection, Service, ServiceOutcome};
use crate::test_panic::test_panic;
use crate::tls::TlsFacts;

impl<S: Service> QuicClient<S> {
    /// Sets the TLS properties and the early-data flag of the connection as seen by the service. The client address
    /// stays that of the handshake, even if later datagrams come from another address.
    pub(super) fn update_connection(&mut self) {
        let facts = |client: &Self| {
            let facts = client.quic.crypto_session().handshake_data();
            facts.and_then(|facts| facts.downcast::<TlsFacts>().ok())
        };
        self.connection.early.set(self.quic.is_handshaking());
        if self.connection.tls().is_none()
            && let Some(facts) = facts(self)
        {
            self.connection.set_tls(facts);
        }
    }

    /// Passes a request, or the error of a malformed one, to the service; rejects the request if the client's address
    /// has changed, and aborts it if the client has reset the stream. Its head is in `around.head`. Starts to shut the
    /// connection down if `keepalive_requests` is reached.
    pub(super) fn request(
        &mut self,
        id: StreamId,
        malformed: Option<ParseError>,
        around: &mut HubContext<'_, S>,
    ) {
        if self.has_moved() {
            self.streams.remove(&id);
            return self.reject(id, around);
        }
        self.update_connection();
        test_panic("quic connection");
        self.active = around.now;
        let number = self.connection.requests.get() + 1;
        self.connection.requests.set(number);
        let has_body = self.streams.get(&id).is_some_and(|stream| stream.has_body);
        let body = if malformed.is_some() || !has_body && self.is_complete(id) {
            None
        } else {
            Some(self.feed(id, around))
        };
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if stream.side == ClientSide::Reset {
            return self.on_reset(id, around);
        }
        stream.number = number;
        stream.head_only = around.head.method() == Method::Head;
        let body = body.as_ref().map_or_else(RequestBody::empty, RequestBody::from_feed);
        let outcome = match malformed {
            Some(error) => around.service.reject(Rejection::Malformed(error), around.head, &self.connection),
            None => around.service.begin(around.head, &self.connection, body),
        };
        match outcome {
            ServiceOutcome::Ready(response) => self.respond(id, response, around),
            ServiceOutcome::Later(future) => {
                stream.work = RequestState::Waiting(future);
                self.advance(id, around);
            }
        }
        if number >= around.service.limits(&self.connection).timeouts.keepalive_requests {
            self.shut_down(around.now);
        }
    }

    /// Creates the feed of a request body. Returns its reader.
    fn feed(&mut self, id: StreamId, around: &HubContext<'_, S>) -> BodyFeed {
        let expects = around.head.known(Known::Expect);
        let expects = expects.is_some_and(|value| value.eq_ignore_ascii_case(b"100-continue"));
        let waker = self.waker(id, around);
        let announced = self.streams.get(&id).and_then(|stream| stream.reader.announced());
        let feed = BodyFeed::new(announced, expects);
        feed.set_driver(&waker);
        let reader = feed.reader();
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.feed = Some(feed);
        }
        reader
    }

    /// Returns the waker of a stream, created on first use.
    fn waker(&mut self, id: StreamId, around: &HubContext<'_, S>) -> Waker {
        let wake = self.wake(Some(id));
        match self.streams.get_mut(&id) {
            Some(stream) => stream.waker.get_or_insert_with(|| around.wakes.waker(wake)).clone(),
            None => Waker::noop().clone(),
        }
    }

    /// Starts to send a response; resets the stream for status 444 and tunnels.
    fn respond(
        &mut self,
        id: StreamId,
        response: Response<S::ExchangeState>,
        around: &mut HubContext<'_, S>,
    ) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if response.drop_connection || matches!(response.body, ResponseBody::Tunnel(_)) {
            stream.work = RequestState::Over;
            let sent =
                SentReport { request_bytes: stream.head_bytes, keep_alive: true, ..SentReport::default() };
            around.service.finish(around.head, &self.connection, response.ticket, &sent);
            let _ = self.quic.send_stream(id).reset(code_number(Http3ErrorCode::RequestCancelled));
            return self.stop_receiving(id);
        }
        let mut sending = ResponseSender::new(response, stream.head_only, around.scratch);
        if !stream.ahead.is_empty() {
            sending.push_front(Bytes::from(std::mem::take(&mut stream.ahead)));
        }
        stream.work = RequestState::Sending(Box::new(sending));
        self.advance(id, around);
    }

    /// Advances a request as far as possible: polls its response future or sends more of its response.
    pub(super) fn advance(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match &mut stream.work {
            RequestState::Waiting(_) => {
                let waker = self.waker(id, around);
                let Some(RequestState::Waiting(future)) =
                    self.streams.get_mut(&id).map(|stream| &mut stream.work)
                else {
                    return;
                };
                if let Poll::Ready(response) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                    self.respond(id, response, around);
                }
            }
            RequestState::Sending(sending) => {
                // Most responses are sent immediately and need no waker.
                let known = stream.waker.as_ref().unwrap_or(Waker::noop());
                let mut polled = sending.poll(&mut self.quic, id, &mut Context::from_waker(known));
                if polled.is_pending() && stream.waker.is_none() {
                    let waker = around.wakes.waker(super::StreamWake {
                        place: self.index,
                        connection: self.connection.id,
                        stream: Some(id),
                    });
                    polled = sending.poll(&mut self.quic, id, &mut Context::from_waker(&waker));
                    stream.waker = Some(waker);
                }
                if let Poll::Ready(ended) = polled {
                    self.finish_response(id, ended, around);
                }
            }
            _ => {}
        }
    }

    /// Reports the end of a response to the service, resets the stream if it is incomplete, and stops reading the
    /// request. Starts to shut the connection down if the response or `keepalive_timeout 0` requires it.
    fn finish_response(&mut self, id: StreamId, ended: ResponseEnd, around: &mut HubContext<'_, S>) {
        self.active = around.now;
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let RequestState::Sending(sending) = std::mem::replace(&mut stream.work, RequestState::Over) else {
            return;
        };
        let mut sent = sending.sent_report(ended);
        sent.request_bytes = stream.head_bytes + stream.feed.as_ref().map_or(0, BodyFeed::received);
        let keep_alive = sending.response.timeouts.keepalive_ms > 0 && !sending.response.close;
        around.service.finish(around.head, &self.connection, sending.response.ticket, &sent);
        match ended {
            ResponseEnd::TimedOut => around.service.http3_failed(&self.connection, &"client timed out"),
            ResponseEnd::TooSlow => around.service.client_too_slow(&self.connection),
            _ => {}
        }
        if ended == ResponseEnd::Whole {
            self.resets.record_answered();
        } else {
            let code = if ended == ResponseEnd::Broken {
                Http3ErrorCode::Internal
            } else {
                Http3ErrorCode::RequestCancelled
            };
            let _ = self.quic.send_stream(id).reset(code_number(code));
        }
        self.stop_receiving(id);
        if !keep_alive {
            self.shut_down(around.now);
        }
    }

    /// Requests the client to stop sending the rest of the request (RFC 9114 section 4.1), unless the stream is no
    /// longer read.
    fn stop_receiving(&mut self, id: StreamId) {
        if self.stop_reading(id) {
            let _ = self.quic.recv_stream(id).stop(code_number(Http3ErrorCode::NoError));
        }
        self.remove_if_over(id);
    }

    /// Rejects a request that arrived after the GOAWAY or from a changed address; the client may retry it on another
    /// connection. Some such requests can be in transit; too many close the connection.
    pub(super) fn reject(&mut self, id: StreamId, around: &HubContext<'_, S>) {
        self.peer.fields().cancel(quinn_proto::VarInt::from(id).into_inner());
        let _ = self.quic.recv_stream(id).stop(code_number(Http3ErrorCode::RequestRejected));
        let _ = self.quic.send_stream(id).reset(code_number(Http3ErrorCode::RequestRejected));
        if self.resets.record_reset() && !self.is_over() {
            self.close_with_error(Http3ErrorCode::ExcessiveLoad, "flood of rejected requests", around);
        }
    }

    /// Handles the client's cancellation of a response (STOP_SENDING): aborts and resets the stream, and stops reading
    /// the request.
    pub(super) fn on_response_cancelled(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        self.abort_stream(id, around);
        let _ = self.quic.send_stream(id).reset(code_number(Http3ErrorCode::RequestCancelled));
        self.stop_receiving(id);
    }

    /// Drops the work for a stream. A response in progress is reported as aborted. Closes the connection after too many
    /// requests that were aborted before their responses were complete.
    pub(super) fn abort_stream(&mut self, id: StreamId, around: &HubContext<'_, S>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(feed) = &stream.feed {
            feed.fail(myriad_http::body::BodyError::Aborted);
        }
        let work = std::mem::replace(&mut stream.work, RequestState::Over);
        if matches!(work, RequestState::Over) {
            return;
        }
        let is_flood = self.resets.record_reset();
        if let RequestState::Sending(sending) = work {
            let mut sent = sending.sent_report(ResponseEnd::Cancelled);
            sent.request_bytes = stream.head_bytes + stream.feed.as_ref().map_or(0, BodyFeed::received);
            around.service.finish(around.head, &self.connection, sending.response.ticket, &sent);
        }
        if is_flood && !self.is_over() {
            self.close_with_error(Http3ErrorCode::ExcessiveLoad, "flood of resets", around);
        }
    }

    /// Removes a stream if it is over. The connection is idle once it has no streams.
    pub(super) fn remove_if_over(&mut self, id: StreamId) {
        if self.streams.get(&id).is_some_and(super::RequestStream::is_over) {
            self.streams.remove(&id);
            if self.streams.is_empty() {
                self.connection.mark_idle();
            }
        }
    }

    /// Reopens the client's flow-control window for the body bytes that the service has read, and sends `100 Continue`
    /// if required.
    pub(super) fn take_released(&mut self, id: StreamId) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let Some(feed) = &stream.feed else { return };
        stream.fed = stream.fed.saturating_sub(feed.take_released() as u64);
        if feed.take_continue() && matches!(stream.work, RequestState::Waiting(_)) {
            self.send_interim(id, 100, b"");
        }
    }

    /// Sends queued interim responses. Those of requests that already have a response are dropped.
    pub(super) fn send_interims(&mut self) {
        for interim in self.connection.multiplex().take() {
            let of = |stream: &super::RequestStream<S::ExchangeState>| {
                stream.number == interim.request && matches!(stream.work, RequestState::Waiting(_))
            };
            let id = self.streams.iter().find(|(_, stream)| of(stream)).map(|(id, _)| *id);
            if let Some(id) = id {
                self.send_interim(id, interim.status, &interim.lines);
            }
        }
    }

    fn send_interim(&mut self, id: StreamId, status: u16, lines: &[u8]) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        h3::interim_response(status, fields(lines), &mut stream.ahead);
        let written = self.quic.send_stream(id).write(&stream.ahead).unwrap_or(0);
        stream.ahead.drain(..written);
    }
}
