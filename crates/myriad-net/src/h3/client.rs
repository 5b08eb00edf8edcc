//! One connection: its streams, and how long it is kept.

mod answer;
mod events;
mod read;

use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use myriad_http::RequestHead;
use myriad_http::h3::{self, Code, Role};
use quinn_proto::{Connection as Quic, Dir, StreamId, VarInt};

use super::bell::{Bell, Call};
use super::request::{RequestStream, Work};
use super::sending::Scratch;
use super::settings::QuicSettings;
use crate::connection::Connection;
use crate::listener::Guard;
use crate::service::{ConnectionEvent, Service};

/// Bytes of answers that a connection may hold until its client has acknowledged them. Pages of the cache are not copied
/// for it.
pub(super) const SEND_WINDOW: u64 = 1 << 20;

/// What connections share while one of them is looked at.
pub(super) struct Around<'a, S> {
    pub(super) service: &'a Rc<S>,
    pub(super) bell: &'a Arc<Bell>,
    pub(super) scratch: &'a mut Scratch,
    pub(super) head: &'a mut RequestHead,
    pub(super) now: Instant,
}

/// A connection.
pub(super) struct Client<S: Service> {
    pub(super) quic: Quic,
    place: usize,
    connection: Rc<Connection>,
    /// None once the connection is over, but for what QUIC has to do after that.
    guard: Option<Guard>,
    streams: HashMap<StreamId, RequestStream<S::Ticket>>,
    /// The client's one-way streams, and what is kept of each.
    one_way: HashMap<StreamId, (Role, Vec<u8>)>,
    peer: h3::Peer,
    control: Option<StreamId>,
    /// The stream after the last that was taken.
    next: u64,
    /// The client has been told to open no more requests.
    leaving: bool,
    /// The client has proved its address before the handshake, by a token (RFC 9000 section 8.1).
    shown: bool,
    /// The address whose handshake is counted.
    pub(super) counted: Option<IpAddr>,
    /// When a handshake that is not over ends.
    handshake_until: Option<Instant>,
    /// `keepalive_timeout`.
    idle: Duration,
    stream_buffer: u64,
    /// When something last happened to a request, or an idle connection began to be.
    active: Instant,
    /// `client_header_timeout`, none for no limit.
    head_timeout: Option<Duration>,
    /// When its requests were last looked through for those that do not get on.
    looked: Instant,
    /// It waits to be looked at.
    pub(super) marked: bool,
}

impl<S: Service> Client<S> {
    pub(super) fn new(
        (quic, place): (Quic, usize),
        shown: bool,
        connection: Rc<Connection>,
        guard: Guard,
        settings: &QuicSettings,
        now: Instant,
    ) -> Self {
        let timeout = Duration::from_millis(settings.handshake_ms);
        Self {
            quic,
            place,
            connection,
            guard: Some(guard),
            streams: HashMap::new(),
            one_way: HashMap::new(),
            peer: h3::Peer::default(),
            control: None,
            next: 0,
            leaving: false,
            shown,
            counted: None,
            handshake_until: (settings.handshake_ms > 0).then(|| now + timeout),
            idle: settings.idle(),
            stream_buffer: settings.stream_buffer,
            active: now,
            head_timeout: (settings.handshake_ms > 0).then_some(timeout),
            looked: now,
            marked: false,
        }
    }

    /// The connection's number.
    pub(super) fn id(&self) -> u64 {
        self.connection.id
    }

    fn call(&self, stream: Option<StreamId>) -> Call {
        Call { place: self.place, connection: self.connection.id, stream }
    }

    /// When it wants to be looked at without anything having happened.
    pub(super) fn wake_at(&mut self) -> Option<Instant> {
        let own = self.own_time();
        match (self.quic.poll_timeout(), own) {
            (Some(quic), Some(own)) => Some(quic.min(own)),
            (quic, own) => quic.or(own),
        }
    }

    fn own_time(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        if self.handshake_until.is_some() {
            return self.handshake_until;
        }
        if self.streams.is_empty() {
            return Some(self.active + self.idle);
        }
        let apart = self.idle / 2;
        Some(self.looked + self.head_timeout.map_or(apart, |timeout| timeout.min(apart)))
    }

    /// Its time has come, perhaps.
    pub(super) fn tick(&mut self, around: &mut Around<'_, S>) {
        let now = around.now;
        if self.quic.poll_timeout().is_some_and(|at| at <= now) {
            self.quic.handle_timeout(now);
        }
        if self.own_time().is_none_or(|at| at > now) {
            return;
        }
        if self.handshake_until.is_some() {
            self.close(now, Code::NoError, "handshake took too long");
        } else if self.streams.is_empty() {
            self.leave(now);
        } else {
            self.looked = now;
            self.end_late_heads(around);
            if self.streams.values().any(|stream| matches!(stream.work, Work::Waiting(_) | Work::Sending(_)))
            {
                // An answer that takes long must not look like a connection that is gone.
                self.quic.ping();
            }
        }
    }

    /// Ends requests whose heads, or the ends that are waited for, have not come within `client_header_timeout`.
    fn end_late_heads(&mut self, around: &mut Around<'_, S>) {
        let Some(timeout) = self.head_timeout else { return };
        let is_late = |stream: &RequestStream<S::Ticket>| {
            matches!(stream.work, Work::Reading | Work::Held(_)) && stream.opened + timeout <= around.now
        };
        let late: Vec<StreamId> =
            self.streams.iter().filter(|(_, stream)| is_late(stream)).map(|(id, _)| *id).collect();
        for id in late {
            self.too_late(id, around);
        }
    }

    /// Opens the server's streams, as soon as the client has said how many it bears.
    fn greet(&mut self, field_section: usize) {
        for (index, bytes) in h3::greeting(field_section).into_iter().enumerate() {
            let Some(id) = self.quic.streams().open(Dir::Uni) else { return };
            if index == 0 {
                self.control = Some(id);
            }
            let _ = self.quic.send_stream(id).write_chunks(&mut [Bytes::from(bytes)]);
        }
    }

    /// Tells the client to go elsewhere with its next request (RFC 9114 section 5.2); ends at once where there is nothing
    /// under way.
    pub(super) fn leave(&mut self, now: Instant) {
        self.go_away();
        self.close_if_done(now);
    }

    fn go_away(&mut self) {
        if !std::mem::replace(&mut self.leaving, true)
            && let Some(control) = self.control
        {
            let _ = self.quic.send_stream(control).write_chunks(&mut [Bytes::from(h3::goaway(self.next))]);
        }
    }

    fn close_if_done(&mut self, now: Instant) {
        // The last answer is the client's only once it has said so: a close would take back what is on its way.
        if self.leaving && self.streams.is_empty() && self.unacknowledged() == 0 {
            self.close(now, Code::NoError, "");
        }
    }

    /// Answers that the client has not acknowledged whole; the server's own streams never end.
    fn unacknowledged(&mut self) -> usize {
        let own = if self.control.is_some() { 3 } else { 0 };
        self.quic.streams().send_streams().saturating_sub(own)
    }

    fn close(&mut self, now: Instant, code: Code, reason: &'static str) {
        let number = VarInt::from_u64(code.number()).unwrap_or(VarInt::MAX);
        self.quic.close(now, number, Bytes::from_static(reason.as_bytes()));
    }

    /// Whether the client's datagrams come from another address than that of its handshake. QUIC follows them before
    /// anybody has shown that the client gets what is sent there (RFC 9000 section 9.3), so that rules must not.
    fn has_moved(&self) -> bool {
        self.connection.peer.ip() != Some(self.quic.remote_address().ip())
    }

    /// Sends a client that has moved through another handshake, which proves where it is. What was asked before is answered.
    fn watch_address(&mut self, now: Instant) {
        if self.is_over() || !self.has_moved() {
            return;
        }
        if self.quic.is_handshaking() {
            // A handshake that two addresses took part in proves neither.
            self.close(now, Code::NoError, "the address changed during the handshake");
        } else {
            // It ends once the streams that have come by now are rejected.
            self.go_away();
        }
    }

    /// Whether nothing can be asked or answered on it any more.
    pub(super) fn is_over(&self) -> bool {
        self.quic.is_closed()
    }

    /// Drops what the connection was for; QUIC itself goes on for some round trips.
    pub(super) fn bury(&mut self, around: &Around<'_, S>) {
        let Some(guard) = self.guard.take() else { return };
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in ids {
            self.forsake(id, around);
        }
        self.streams.clear();
        around.service.note(ConnectionEvent::Closed);
        drop(guard);
    }
}
