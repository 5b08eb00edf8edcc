//! Reading of the streams of a QUIC client: requests, and unidirectional control and QPACK streams.

use std::ops::ControlFlow;

use bytes::Bytes;
use myriad_http::body::BodyError;
use myriad_http::h3::{ControlEvent, ErrorScope, Http3Error, RequestEvent};
use myriad_http::{Method, ParseError, RequestHead};
use quinn_proto::{ReadError, StreamId, VarInt};

use super::super::request::{ClientSide, DelayReason, DelayedRequest, RequestState, RequestStream};
use super::{Http3ErrorCode, HubContext, QuicClient};
use crate::service::Service;

/// Result of a read from a QUIC stream.
enum StreamData {
    Bytes(Bytes),
    End,
    /// The client reset the stream.
    Reset,
    /// No data is available now.
    Nothing,
}

impl<S: Service> QuicClient<S> {
    /// Takes the next bytes of a stream, in order, at most `most` bytes.
    fn take_up_to(&mut self, id: StreamId, most: usize) -> StreamData {
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return StreamData::Nothing };
        let taken = match chunks.next(most) {
            Ok(Some(chunk)) => StreamData::Bytes(chunk.bytes),
            Ok(None) => StreamData::End,
            Err(ReadError::Blocked) => StreamData::Nothing,
            Err(ReadError::Reset(_)) => StreamData::Reset,
        };
        // The result is ignored: the caller sends pending QUIC frames anyway.
        let _ = chunks.finalize();
        taken
    }

    /// Takes the next bytes of a request stream. Records the end or reset of the client's side.
    fn take(&mut self, id: StreamId) -> StreamData {
        self.take_some(id, usize::MAX)
    }

    fn take_some(&mut self, id: StreamId, most: usize) -> StreamData {
        match self.streams.get(&id).map(|stream| stream.side) {
            Some(ClientSide::Ended) => return StreamData::End,
            Some(ClientSide::Reset) => return StreamData::Reset,
            Some(ClientSide::Open) | None => {}
        }
        let taken = self.take_up_to(id, most);
        let side = match taken {
            StreamData::End => ClientSide::Ended,
            StreamData::Reset => ClientSide::Reset,
            StreamData::Bytes(_) | StreamData::Nothing => return taken,
        };
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.side = side;
        }
        taken
    }

    /// Returns true if the client has reset a stream that is not being read. Takes no bytes from the stream, so that
    /// unread bytes still occupy its flow-control window.
    fn is_reset(&mut self, id: StreamId) -> bool {
        matches!(self.take_some(id, 0), StreamData::Reset)
    }

    /// Reads a unidirectional stream. Closes the connection if a critical stream is closed, reset or malformed. Stops
    /// a stream of an unknown type.
    pub(super) fn read_one_way(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        loop {
            let taken = self.take_up_to(id, usize::MAX);
            let Some((role, kept)) = self.one_way.get_mut(&id) else { return };
            let mut result = Ok(());
            match &taken {
                StreamData::Nothing => return,
                StreamData::End | StreamData::Reset => {
                    if role.is_critical() {
                        let reason = "a critical stream was closed";
                        self.close_with_error(Http3ErrorCode::ClosedCriticalStream, reason, around);
                    }
                    self.one_way.remove(&id);
                    return;
                }
                StreamData::Bytes(bytes) => {
                    let mut input = &bytes[..];
                    loop {
                        match self.peer.receive(role, kept, &mut input) {
                            Ok(ControlEvent::Partial) => break,
                            Ok(ControlEvent::Priority(stream, priority)) => {
                                prioritise(&mut self.quic, stream, priority.urgency);
                            }
                            Err(error) => {
                                result = Err(error);
                                break;
                            }
                        }
                    }
                }
            }
            if let Err(error) = result {
                return self.close_with_error(error.code, error.reason, around);
            }
            if matches!(self.one_way.get(&id), Some((myriad_http::h3::UniStreamRole::Unwanted, _))) {
                self.one_way.remove(&id);
                let _ = self.quic.recv_stream(id).stop(code_number(Http3ErrorCode::StreamCreation));
                return;
            }
            self.resume_unblocked(around);
        }
    }

    /// Continues requests that waited for QPACK table entries which have arrived.
    fn resume_unblocked(&mut self, around: &mut HubContext<'_, S>) {
        if !self.peer.fields().has_blocked() {
            return;
        }
        let fields = self.peer.fields();
        let goes_on = |stream: &RequestStream<S::ExchangeState>| {
            stream.reader.holds_section() && !stream.reader.waits(fields)
        };
        let ids: Vec<StreamId> =
            self.streams.iter().filter(|(_, stream)| goes_on(stream)).map(|(id, _)| *id).collect();
        for id in ids {
            self.read(id, around);
        }
    }

    /// Reads a request stream until no data is available, the stream is complete or has failed, the buffer of its body is
    /// full, or the request waits for the handshake or for QPACK table entries. Does nothing if the stream is not read
    /// any more.
    pub(super) fn read(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        while let Some(stream) = self.streams.get_mut(&id) {
            if matches!(&stream.work, RequestState::Held(held) if held.until == DelayReason::Handshake) {
                if self.is_reset(id) {
                    return self.on_reset(id, around);
                }
                if self.quic.is_handshaking() {
                    return;
                }
                self.release_after_handshake(id, around);
                continue;
            }
            if !stream.receiving {
                return;
            }
            let is_full = stream.fed >= self.stream_buffer || stream.reader.waits(self.peer.fields());
            let holds_section = stream.reader.holds_section();
            let is_read = stream.rest.is_empty();
            if (is_full || holds_section) && self.is_reset(id) {
                return self.on_reset(id, around);
            }
            if is_full {
                return;
            }
            if is_read && !holds_section {
                match self.take(id) {
                    StreamData::Nothing => return,
                    StreamData::Bytes(bytes) => self.append_body(id, bytes),
                    StreamData::End => return self.on_stream_end(id, around),
                    StreamData::Reset => return self.on_reset(id, around),
                }
            }
            match self.interpret(id, around) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(error) => return self.fail(id, error, around),
            }
        }
    }

    /// Passes a request that waited for the end of the handshake to the service, unless there is another reason to
    /// delay it.
    fn release_after_handshake(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        let Some(stream) = self.streams.get(&id) else { return };
        let RequestState::Held(held) = &stream.work else { return };
        let (opened, is_safe, malformed) = (stream.opened, is_safe(&held.head), held.malformed);
        match self.reason_to_hold(id, is_safe, malformed) {
            None => self.release(id, around),
            Some(until) => {
                if let Some(RequestState::Held(held)) =
                    self.streams.get_mut(&id).map(|stream| &mut stream.work)
                {
                    held.until = until;
                }
                self.schedule_release(opened);
            }
        }
    }

    /// Passes a delayed request to the service; does nothing for other requests.
    pub(super) fn release(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match std::mem::replace(&mut stream.work, RequestState::Reading) {
            RequestState::Held(held) => {
                *around.head = held.head;
                self.request(id, held.malformed, around);
            }
            other => stream.work = other,
        }
    }

    fn append_body(&mut self, id: StreamId, bytes: Bytes) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.rest = bytes;
        }
    }

    /// Parses the bytes taken from a stream. Returns `Break` if the stream must not be read further for now.
    fn interpret(
        &mut self,
        id: StreamId,
        around: &mut HubContext<'_, S>,
    ) -> Result<ControlFlow<()>, Http3Error> {
        let limits = around.service.limits(&self.connection).block;
        loop {
            let Some(stream) = self.streams.get_mut(&id) else { return Ok(ControlFlow::Break(())) };
            let taken = stream.rest.clone();
            let mut input = &taken[..];
            let event = stream.reader.receive(&mut input, &limits, around.head, self.peer.fields())?;
            if matches!(stream.work, RequestState::Reading) {
                stream.head_bytes += (taken.len() - input.len()) as u64;
            }
            stream.rest = taken.slice(taken.len() - input.len()..);
            match event {
                RequestEvent::Partial => return Ok(ControlFlow::Continue(())),
                RequestEvent::Blocked => return Ok(ControlFlow::Break(())),
                RequestEvent::Trailers => {}
                RequestEvent::Data(piece) => {
                    stream.has_body = true;
                    if matches!(stream.work, RequestState::Held(_)) {
                        self.release(id, around);
                    }
                    let Some(stream) = self.streams.get_mut(&id) else { return Ok(ControlFlow::Break(())) };
                    if let Some(feed) = &stream.feed {
                        stream.fed += piece.len() as u64;
                        feed.push(piece);
                    }
                    if stream.fed >= self.stream_buffer {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                RequestEvent::Request { priority, malformed } => {
                    if priority.urgency != 3 {
                        prioritise(&mut self.quic, VarInt::from(id).into_inner(), priority.urgency);
                    }
                    match self.reason_to_hold(id, is_safe(around.head), malformed) {
                        None => self.request(id, malformed, around),
                        Some(until) => {
                            let head = std::mem::take(around.head);
                            let Some(stream) = self.streams.get_mut(&id) else { continue };
                            stream.work =
                                RequestState::Held(Box::new(DelayedRequest { head, malformed, until }));
                            let opened = stream.opened;
                            if until == DelayReason::End {
                                self.schedule_release(opened);
                            }
                            if until == DelayReason::Handshake {
                                return Ok(ControlFlow::Break(()));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the reason to delay a request; `None` if it can be passed to the service now. `is_safe` is true if the
    /// method of the request is safe.
    fn reason_to_hold(
        &mut self,
        id: StreamId,
        is_safe: bool,
        malformed: Option<ParseError>,
    ) -> Option<DelayReason> {
        // A 0-RTT request may be a replay (RFC 8470 section 3), and its source address may be forged.
        if self.quic.is_handshaking() && !(self.shown && is_safe) {
            return Some(DelayReason::Handshake);
        }
        if malformed.is_some() || !is_safe {
            return None;
        }
        let announced = self.streams.get(&id).and_then(|stream| stream.reader.announced());
        (announced.is_none() && !self.is_complete(id)).then_some(DelayReason::End)
    }

    /// Returns true if the client is known to have sent the whole request; false while taken bytes are not parsed. May
    /// take bytes from the stream, which are stored for later parsing.
    pub(super) fn is_complete(&mut self, id: StreamId) -> bool {
        match self.streams.get(&id) {
            Some(stream) if !stream.receiving => return stream.reader.finish().is_ok(),
            Some(stream) if stream.rest.is_empty() => {}
            _ => return false,
        }
        match self.take(id) {
            StreamData::Bytes(bytes) => self.append_body(id, bytes),
            StreamData::End => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    // A truncated frame is reported by a later read.
                    stream.receiving = stream.reader.finish().is_err();
                    return !stream.receiving;
                }
            }
            StreamData::Nothing | StreamData::Reset => {}
        }
        false
    }

    fn on_stream_end(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match stream.reader.finish() {
            Ok(()) => {
                stream.receiving = false;
                if let Some(feed) = &stream.feed {
                    feed.end();
                }
                self.release(id, around);
                self.remove_if_over(id);
            }
            Err(error) => self.fail(id, error, around),
        }
    }

    /// Stops reading a stream. Returns true if it was still being read.
    pub(super) fn stop_reading(&mut self, id: StreamId) -> bool {
        let Some(stream) = self.streams.get_mut(&id) else { return false };
        let was_receiving = std::mem::replace(&mut stream.receiving, false);
        if was_receiving {
            stream.reader.abandon(self.peer.fields());
        }
        was_receiving
    }

    /// Handles a reset of the client's side, so that its request is incomplete. A request whose response has not
    /// started is aborted; a response in progress continues unless the client cancels it as well.
    pub(super) fn on_reset(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        self.stop_reading(id);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(feed) = &stream.feed {
            feed.fail(BodyError::Aborted);
        }
        if matches!(stream.work, RequestState::Reading | RequestState::Held(_) | RequestState::Waiting(_)) {
            self.abort_stream(id, around);
            let _ = self.quic.send_stream(id).reset(code_number(Http3ErrorCode::RequestCancelled));
        }
        self.remove_if_over(id);
    }

    /// Aborts a request that exceeded `client_header_timeout` or `client_min_rate` before it was passed to the service.
    pub(super) fn on_head_timeout(&mut self, id: StreamId, around: &mut HubContext<'_, S>) {
        let reason = "client timed out";
        self.fail(
            id,
            Http3Error { scope: ErrorScope::Stream, code: Http3ErrorCode::RequestIncomplete, reason },
            around,
        );
    }

    /// Fails a body with a wrong length or malformed trailers, so that the service can respond with an error status
    /// (RFC 9114 section 4.1.2); a delayed request is passed to the service first. Returns false if the error is of
    /// another kind, the response has started, or the request was rejected as malformed.
    fn refuse_body(&mut self, id: StreamId, error: Http3Error, around: &mut HubContext<'_, S>) -> bool {
        if error.code != Http3ErrorCode::Message {
            return false;
        }
        self.release(id, around);
        let Some(stream) = self.streams.get_mut(&id) else { return false };
        let (RequestState::Waiting(_), Some(feed)) = (&stream.work, &stream.feed) else { return false };
        feed.fail(BodyError::Malformed(ParseError::InvalidLength));
        if self.stop_reading(id) {
            let _ = self.quic.recv_stream(id).stop(code_number(error.code));
        }
        true
    }

    /// Handles a protocol violation of the client: closes the connection, fails only the request body
    /// ([`Self::refuse_body`]), or aborts the stream, by the scope and kind of the error.
    fn fail(&mut self, id: StreamId, error: Http3Error, around: &mut HubContext<'_, S>) {
        if error.scope == ErrorScope::Connection {
            return self.close_with_error(error.code, error.reason, around);
        }
        if self.refuse_body(id, error, around) {
            return;
        }
        around.service.http3_failed(&self.connection, &error.reason);
        self.stop_reading(id);
        self.abort_stream(id, around);
        let _ = self.quic.recv_stream(id).stop(code_number(error.code));
        let _ = self.quic.send_stream(id).reset(code_number(error.code));
        self.remove_if_over(id);
    }
}

/// Returns true if the method may be processed before the handshake is complete (RFC 8470 section 4, RFC 9110 section
/// 9.2.1): GET, HEAD or OPTIONS.
fn is_safe(head: &RequestHead) -> bool {
    matches!(head.method(), Method::Get | Method::Head | Method::Options)
}

pub(super) fn code_number(code: Http3ErrorCode) -> VarInt {
    VarInt::from_u64(code.number()).unwrap_or(VarInt::MAX)
}

/// Sets the priority of a response from its urgency (RFC 9218 section 10).
fn prioritise(quic: &mut quinn_proto::Connection, stream: u64, urgency: u8) {
    if let Ok(id) = VarInt::from_u64(stream) {
        // Fails if the stream is finished or not open yet. In the second case the `priority` field of its request
        // applies.
        let _ = quic.send_stream(StreamId::from(id)).set_priority(3 - i32::from(urgency));
    }
}
