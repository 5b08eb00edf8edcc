//! Reading of streams.

use std::ops::ControlFlow;

use bytes::Bytes;
use myriad_http::body::BodyError;
use myriad_http::h3::{Control, Error, Event, Scope};
use myriad_http::{Method, ParseError, RequestHead};
use quinn_proto::{ReadError, StreamId, VarInt};

use super::super::request::{Held, RequestStream, Side, Until, Work};
use super::{Around, Client, Code};
use crate::service::Service;

/// Result of a read from a stream.
enum Taken {
    Bytes(Bytes),
    End,
    /// The client reset the stream.
    Reset,
    /// No data is available now.
    Nothing,
}

impl<S: Service> Client<S> {
    /// Takes the next bytes of a stream, in order, up to `most`.
    fn take_up_to(&mut self, id: StreamId, most: usize) -> Taken {
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else { return Taken::Nothing };
        let taken = match chunks.next(most) {
            Ok(Some(chunk)) => Taken::Bytes(chunk.bytes),
            Ok(None) => Taken::End,
            Err(ReadError::Blocked) => Taken::Nothing,
            Err(ReadError::Reset(_)) => Taken::Reset,
        };
        // The caller sends pending frames anyway.
        let _ = chunks.finalize();
        taken
    }

    /// Takes the next bytes of a request stream and stores the state of the client's side.
    fn take(&mut self, id: StreamId) -> Taken {
        self.take_some(id, usize::MAX)
    }

    fn take_some(&mut self, id: StreamId, most: usize) -> Taken {
        match self.streams.get(&id).map(|stream| stream.side) {
            Some(Side::Ended) => return Taken::End,
            Some(Side::Reset) => return Taken::Reset,
            Some(Side::Open) | None => {}
        }
        let taken = self.take_up_to(id, most);
        let side = match taken {
            Taken::End => Side::Ended,
            Taken::Reset => Side::Reset,
            Taken::Bytes(_) | Taken::Nothing => return taken,
        };
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.side = side;
        }
        taken
    }

    /// Returns whether the client has reset a stream that is not being read; bytes remain in the stream and use its
    /// window.
    fn is_broken_off(&mut self, id: StreamId) -> bool {
        matches!(self.take_some(id, 0), Taken::Reset)
    }

    /// Reads a unidirectional stream.
    pub(super) fn read_one_way(&mut self, id: StreamId, around: &mut Around<'_, S>) {
        loop {
            let taken = self.take_up_to(id, usize::MAX);
            let Some((role, kept)) = self.one_way.get_mut(&id) else { return };
            let mut result = Ok(());
            match &taken {
                Taken::Nothing => return,
                Taken::End | Taken::Reset => {
                    if role.is_critical() {
                        let reason = "a critical stream was closed";
                        self.offended(Code::ClosedCriticalStream, reason, around);
                    }
                    self.one_way.remove(&id);
                    return;
                }
                Taken::Bytes(bytes) => {
                    let mut input = &bytes[..];
                    loop {
                        match self.peer.receive(role, kept, &mut input) {
                            Ok(Control::Partial) => break,
                            Ok(Control::Priority(stream, priority)) => {
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
                return self.offended(error.code, error.reason, around);
            }
            if matches!(self.one_way.get(&id), Some((myriad_http::h3::Role::Unwanted, _))) {
                self.one_way.remove(&id);
                let _ = self.quic.recv_stream(id).stop(number(Code::StreamCreation));
                return;
            }
            self.unblock(around);
        }
    }

    /// Continues requests whose QPACK table entries have arrived.
    fn unblock(&mut self, around: &mut Around<'_, S>) {
        if !self.peer.fields().has_blocked() {
            return;
        }
        let fields = self.peer.fields();
        let goes_on =
            |stream: &RequestStream<S::Ticket>| stream.reader.holds_section() && !stream.reader.waits(fields);
        let ids: Vec<StreamId> =
            self.streams.iter().filter(|(_, stream)| goes_on(stream)).map(|(id, _)| *id).collect();
        for id in ids {
            self.read(id, around);
        }
    }

    /// Reads a request stream as far as data is available and its body is needed.
    pub(super) fn read(&mut self, id: StreamId, around: &mut Around<'_, S>) {
        while let Some(stream) = self.streams.get_mut(&id) {
            if matches!(&stream.work, Work::Held(held) if held.until == Until::Handshake) {
                if self.is_broken_off(id) {
                    return self.broken_off(id, around);
                }
                if self.quic.is_handshaking() {
                    return;
                }
                self.resume(id, around);
                continue;
            }
            if !stream.receiving {
                return;
            }
            let is_full = stream.fed >= self.stream_buffer || stream.reader.waits(self.peer.fields());
            let holds_section = stream.reader.holds_section();
            let is_read = stream.rest.is_empty();
            if (is_full || holds_section) && self.is_broken_off(id) {
                return self.broken_off(id, around);
            }
            if is_full {
                return;
            }
            if is_read && !holds_section {
                match self.take(id) {
                    Taken::Nothing => return,
                    Taken::Bytes(bytes) => self.put(id, bytes),
                    Taken::End => return self.ended(id, around),
                    Taken::Reset => return self.broken_off(id, around),
                }
            }
            match self.interpret(id, around) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return,
                Err(error) => return self.fail(id, error, around),
            }
        }
    }

    /// Handles the end of the handshake: passes on the request that waited for it, unless another reason remains.
    fn resume(&mut self, id: StreamId, around: &mut Around<'_, S>) {
        let Some(stream) = self.streams.get(&id) else { return };
        let Work::Held(held) = &stream.work else { return };
        let (opened, is_safe, malformed) = (stream.opened, is_safe(&held.head), held.malformed);
        match self.reason_to_hold(id, is_safe, malformed) {
            None => self.release(id, around),
            Some(until) => {
                if let Some(Work::Held(held)) = self.streams.get_mut(&id).map(|stream| &mut stream.work) {
                    held.until = until;
                }
                self.hold(opened);
            }
        }
    }

    /// Passes a delayed request to the service.
    pub(super) fn release(&mut self, id: StreamId, around: &mut Around<'_, S>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match std::mem::replace(&mut stream.work, Work::Reading) {
            Work::Held(held) => {
                *around.head = held.head;
                self.request(id, held.malformed, around);
            }
            other => stream.work = other,
        }
    }

    fn put(&mut self, id: StreamId, bytes: Bytes) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.rest = bytes;
        }
    }

    /// Parses the bytes taken from a stream. Breaks if no more may be read for now.
    fn interpret(&mut self, id: StreamId, around: &mut Around<'_, S>) -> Result<ControlFlow<()>, Error> {
        let limits = around.service.limits(&self.connection).block;
        loop {
            let Some(stream) = self.streams.get_mut(&id) else { return Ok(ControlFlow::Break(())) };
            let taken = stream.rest.clone();
            let mut input = &taken[..];
            let event = stream.reader.receive(&mut input, &limits, around.head, self.peer.fields())?;
            if matches!(stream.work, Work::Reading) {
                stream.head_bytes += (taken.len() - input.len()) as u64;
            }
            stream.rest = taken.slice(taken.len() - input.len()..);
            match event {
                Event::Partial => return Ok(ControlFlow::Continue(())),
                Event::Blocked => return Ok(ControlFlow::Break(())),
                Event::Trailers => {}
                Event::Data(piece) => {
                    stream.has_body = true;
                    if matches!(stream.work, Work::Held(_)) {
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
                Event::Request { priority, malformed } => {
                    if priority.urgency != 3 {
                        prioritise(&mut self.quic, VarInt::from(id).into_inner(), priority.urgency);
                    }
                    match self.reason_to_hold(id, is_safe(around.head), malformed) {
                        None => self.request(id, malformed, around),
                        Some(until) => {
                            let head = std::mem::take(around.head);
                            let Some(stream) = self.streams.get_mut(&id) else { continue };
                            stream.work = Work::Held(Box::new(Held { head, malformed, until }));
                            let opened = stream.opened;
                            if until == Until::End {
                                self.hold(opened);
                            }
                            if until == Until::Handshake {
                                return Ok(ControlFlow::Break(()));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Returns the reason to delay a request; `None` if it can be passed to the service.
    fn reason_to_hold(
        &mut self,
        id: StreamId,
        is_safe: bool,
        malformed: Option<ParseError>,
    ) -> Option<Until> {
        // A 0-RTT request may be a replay (RFC 8470 section 3), and its source address may be forged.
        if self.quic.is_handshaking() && !(self.shown && is_safe) {
            return Some(Until::Handshake);
        }
        if malformed.is_some() || !is_safe {
            return None;
        }
        let announced = self.streams.get(&id).and_then(|stream| stream.reader.announced());
        (announced.is_none() && !self.is_whole(id)).then_some(Until::End)
    }

    /// Returns whether the client has sent the whole request; unread bytes are retained.
    pub(super) fn is_whole(&mut self, id: StreamId) -> bool {
        match self.streams.get(&id) {
            Some(stream) if !stream.receiving => return stream.reader.finish().is_ok(),
            Some(stream) if stream.rest.is_empty() => {}
            _ => return false,
        }
        match self.take(id) {
            Taken::Bytes(bytes) => self.put(id, bytes),
            Taken::End => {
                if let Some(stream) = self.streams.get_mut(&id) {
                    // A truncated frame is handled by later reads.
                    stream.receiving = stream.reader.finish().is_err();
                    return !stream.receiving;
                }
            }
            Taken::Nothing | Taken::Reset => {}
        }
        false
    }

    fn ended(&mut self, id: StreamId, around: &mut Around<'_, S>) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        match stream.reader.finish() {
            Ok(()) => {
                stream.receiving = false;
                if let Some(feed) = &stream.feed {
                    feed.end();
                }
                self.release(id, around);
                self.forget_if_over(id);
            }
            Err(error) => self.fail(id, error, around),
        }
    }

    /// Stops reading a stream. Returns whether more data was expected.
    pub(super) fn abandon(&mut self, id: StreamId) -> bool {
        let Some(stream) = self.streams.get_mut(&id) else { return false };
        let was_receiving = std::mem::replace(&mut stream.receiving, false);
        if was_receiving {
            stream.reader.abandon(self.peer.fields());
        }
        was_receiving
    }

    /// Handles a reset of the client's side: its request is incomplete. A response in progress continues unless the
    /// client cancels it too.
    pub(super) fn broken_off(&mut self, id: StreamId, around: &mut Around<'_, S>) {
        self.abandon(id);
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Some(feed) = &stream.feed {
            feed.fail(BodyError::Aborted);
        }
        if matches!(stream.work, Work::Reading | Work::Held(_) | Work::Waiting(_)) {
            self.forsake(id, around);
            let _ = self.quic.send_stream(id).reset(number(Code::RequestCancelled));
        }
        self.forget_if_over(id);
    }

    /// Handles a request that exceeded its time limit.
    pub(super) fn too_late(&mut self, id: StreamId, around: &mut Around<'_, S>) {
        let reason = "client timed out";
        self.fail(id, Error { scope: Scope::Stream, code: Code::RequestIncomplete, reason }, around);
    }

    /// Rejects a body whose length differs from the announced length, or with malformed trailers, with a status if no
    /// part of the response has been sent (RFC 9114 section 4.1.2). Returns whether it did.
    fn refuse_body(&mut self, id: StreamId, error: Error, around: &mut Around<'_, S>) -> bool {
        if error.code != Code::Message {
            return false;
        }
        self.release(id, around);
        let Some(stream) = self.streams.get_mut(&id) else { return false };
        let (Work::Waiting(_), Some(feed)) = (&stream.work, &stream.feed) else { return false };
        feed.fail(BodyError::Malformed(ParseError::InvalidLength));
        if self.abandon(id) {
            let _ = self.quic.recv_stream(id).stop(number(error.code));
        }
        true
    }

    /// Handles a protocol violation of the client.
    fn fail(&mut self, id: StreamId, error: Error, around: &mut Around<'_, S>) {
        if error.scope == Scope::Connection {
            return self.offended(error.code, error.reason, around);
        }
        if self.refuse_body(id, error, around) {
            return;
        }
        around.service.http3_failed(&self.connection, &error.reason);
        self.abandon(id);
        self.forsake(id, around);
        let _ = self.quic.recv_stream(id).stop(number(error.code));
        let _ = self.quic.send_stream(id).reset(number(error.code));
        self.forget_if_over(id);
    }
}

/// Returns whether the method is safe (RFC 8470 section 4, RFC 9110 section 9.2.1).
fn is_safe(head: &RequestHead) -> bool {
    matches!(head.method(), Method::Get | Method::Head | Method::Options)
}

pub(super) fn number(code: Code) -> VarInt {
    VarInt::from_u64(code.number()).unwrap_or(VarInt::MAX)
}

/// Sets the priority of a response by its urgency (RFC 9218 section 10).
fn prioritise(quic: &mut quinn_proto::Connection, stream: u64, urgency: u8) {
    if let Ok(id) = VarInt::from_u64(stream) {
        // The stream may be finished or not open yet; in the second case its own field takes precedence.
        let _ = quic.send_stream(StreamId::from(id)).set_priority(3 - i32::from(urgency));
    }
}
