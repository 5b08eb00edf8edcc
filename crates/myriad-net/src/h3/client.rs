//! One connection: its streams, and how long it is kept.

mod answer;
mod events;
mod read;
mod time;

use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use myriad_http::h3::{self, Code, Role};
use myriad_http::{RequestHead, Resets};
use quinn_proto::{Connection as Quic, Dir, StreamId, Transmit, VarInt};

use super::address_proof::AddressProof;
use super::moved::{Fate, Moved, Sent};
use super::request::RequestStream;
use super::sending::Scratch;
use super::settings::QuicSettings;
use super::stream_wakes::{StreamWake, StreamWakes};
use crate::connection::Connection;
use crate::deadline;
use crate::patience::MinRate;
use crate::seats::Guard;
use crate::service::{ConnectionEvent, Service};

/// How long a connection is kept at least, and at most, after its client was told to make no more requests.
const SHORTEST_FAREWELL: Duration = Duration::from_millis(50);
const LONGEST_FAREWELL: Duration = Duration::from_secs(1);
/// What connections share while one of them is looked at.
pub(super) struct Around<'a, S> {
    pub(super) service: &'a Rc<S>,
    pub(super) wakes: &'a Arc<StreamWakes>,
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
    /// The server's stream of its decoder of fields.
    decoder: Option<StreamId>,
    /// The stream after the last that was taken.
    next: u64,
    /// The reloads before it came: its settings and its server's are of that time.
    epoch: u32,
    /// When the client was told to make no more requests, if it was.
    leaving: Option<Instant>,
    /// The client has proved its address before the handshake, by a token (RFC 9000 section 8.1).
    shown: bool,
    /// Bytes that may still be sent to a client that has not shown where it is (RFC 9000 section 8.1); none once it has. quinn
    /// counts, too, but lets a datagram go out whole that begins within the limit.
    credit: Option<u64>,
    /// Given once it has.
    proof: AddressProof,
    /// The address that the client has shown to be its own, or shows by its handshake.
    proven: Option<IpAddr>,
    /// One that it has moved to since, until that is shown.
    moved: Option<Moved>,
    /// A datagram that waits for more of it.
    withheld: Option<(Transmit, Vec<u8>)>,
    /// The address whose handshake is counted.
    pub(super) counted: Option<IpAddr>,
    /// When a handshake that is not over ends.
    handshake_until: Option<Instant>,
    /// `keepalive_timeout`.
    idle: Duration,
    stream_buffer: u64,
    resets: Resets,
    /// When something last happened to a request, or an idle connection began to be.
    active: Instant,
    /// `client_header_timeout`, none for no limit.
    head_timeout: Option<Duration>,
    /// The grace of `client_min_rate`, none for no rate.
    head_grace: Option<Duration>,
    /// `client_min_rate`, for heads.
    min_rate: MinRate,
    /// When its requests were last looked through for those that do not get on.
    looked: Instant,
    /// When a request has waited long enough for its end, if one waits.
    held_until: Option<Instant>,
    /// Whether it waits to be looked at.
    pub(super) marked: bool,
}

impl<S: Service> Client<S> {
    pub(super) fn new(
        (quic, place): (Quic, usize),
        (shown, proof): (bool, AddressProof),
        connection: Rc<Connection>,
        guard: Guard,
        settings: &QuicSettings,
        now: Instant,
    ) -> Self {
        let timeout = Duration::from_millis(settings.handshake_ms);
        let proven = connection.peer.ip();
        Self {
            quic,
            place,
            connection,
            guard: Some(guard),
            streams: HashMap::new(),
            one_way: HashMap::new(),
            peer: h3::Peer::default(),
            control: None,
            decoder: None,
            next: 0,
            epoch: deadline::epoch(),
            leaving: None,
            shown,
            credit: (!shown).then_some(0),
            proof,
            proven,
            moved: None,
            withheld: None,
            counted: None,
            handshake_until: (settings.handshake_ms > 0).then(|| now + timeout),
            idle: settings.idle(),
            stream_buffer: settings.stream_buffer,
            resets: Resets::new(settings.streams),
            active: now,
            head_timeout: (settings.handshake_ms > 0).then_some(timeout),
            head_grace: settings.head_grace(),
            min_rate: settings.min_rate,
            looked: now,
            held_until: None,
            marked: false,
        }
    }

    /// The connection's number.
    pub(super) fn id(&self) -> u64 {
        self.connection.id
    }

    /// What rings where there is something to be said on the connection as a whole.
    pub(super) fn wake_by(&self, wakes: &Arc<StreamWakes>) {
        self.connection.multiplex().set_driver(&wakes.waker(self.wake(None)));
    }

    /// Its seat was given to somebody else: no more requests. One that is shaking hands has nothing to be told.
    fn give_way(&mut self, now: Instant) {
        if self.quic.is_handshaking() {
            self.close(now, Code::NoError, "too many connections");
        } else {
            self.leave(now);
        }
    }

    fn wake(&self, stream: Option<StreamId>) -> StreamWake {
        StreamWake { place: self.place, connection: self.connection.id, stream }
    }

    /// A datagram has come for it, of so many bytes.
    pub(super) fn received(&mut self, length: usize) {
        self.credit = self.credit.map(|credit| credit + 3 * length as u64);
    }

    /// A datagram of so many bytes from that address has been read.
    pub(super) fn came_from(&mut self, from: IpAddr, length: usize) {
        if self.quic.remote_address().ip() != from {
            return;
        }
        if self.moved.as_ref().is_some_and(|moved| moved.address != from) {
            self.stay();
        }
        if self.proven != Some(from) {
            self.moved = Some(Moved::earn(self.moved.take(), from, length));
        }
    }

    /// Forgets an address that the client is not at: what waits to be sent there is lost.
    fn stay(&mut self) {
        self.moved = None;
        self.withheld = None;
    }

    /// Puts what is to be sent next into `out`, which is empty: so many datagrams at most.
    pub(super) fn next_datagrams(
        &mut self,
        now: Instant,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if self.moved.as_ref().is_some_and(|moved| moved.address != self.quic.remote_address().ip()) {
            self.stay();
        }
        while self.moved.is_some() {
            match self.next_to_moved(now, out)? {
                (_, Fate::IsLost) => out.clear(),
                (transmit, _) => return Some(transmit),
            }
        }
        self.credit = self.credit.filter(|_| !self.proof.is_given());
        let most = if self.credit.is_some() { 1 } else { most };
        let transmit = match self.withheld.take() {
            Some((transmit, bytes)) => {
                *out = bytes;
                transmit
            }
            None => self.quic.poll_transmit(now, most, out)?,
        };
        let Some(credit) = &mut self.credit else { return Some(transmit) };
        if let Some(left) = credit.checked_sub(transmit.size as u64) {
            *credit = left;
            return Some(transmit);
        }
        self.withheld = Some((transmit, std::mem::take(out)));
        None
    }

    /// The same for a client that is at an address which it has not shown to be its own.
    fn next_to_moved(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<(Transmit, Fate)> {
        let moved = self.moved.as_mut()?;
        let (transmit, fate) = if let Some((transmit, bytes)) = self.withheld.take() {
            *out = bytes;
            let fate = moved.pay(&transmit);
            (transmit, fate)
        } else {
            let before = Sent::by(&self.quic);
            let transmit = self.quic.poll_transmit(now, 1, out)?;
            let fate = moved.judge(&transmit, before, Sent::by(&self.quic), !self.quic.is_closed());
            (transmit, fate)
        };
        match fate {
            Fate::Waits => {
                self.withheld = Some((transmit, std::mem::take(out)));
                return None;
            }
            Fate::GoesToShown => self.proven = self.moved.take().map(|moved| moved.address),
            Fate::Goes | Fate::IsLost => {}
        }
        Some((transmit, fate))
    }

    /// Opens the server's streams, as soon as the client has said how many it bears.
    fn greet(&mut self, field_section: usize) {
        for (index, bytes) in h3::greeting(field_section).into_iter().enumerate() {
            let Some(id) = self.quic.streams().open(Dir::Uni) else { return };
            match index {
                0 => self.control = Some(id),
                2 => self.decoder = Some(id),
                _ => {}
            }
            let _ = self.quic.send_stream(id).write_chunks(&mut [Bytes::from(bytes)]);
        }
    }

    /// Tells the client what became of the entries that it has put into the table of fields.
    fn tell_encoder(&mut self, around: &Around<'_, S>) {
        let fields = self.peer.fields();
        if fields.output().is_empty() {
            return;
        }
        if let Some(decoder) = self.decoder {
            let written = self.quic.send_stream(decoder).write(fields.output()).unwrap_or(0);
            fields.output().drain(..written);
        }
        if let Err(error) = fields.check_patience() {
            self.offended(error.code, error.reason, around);
        }
    }

    /// Tells the client to go elsewhere with its next request (RFC 9114 section 5.2); ends at once where there is nothing
    /// under way.
    pub(super) fn leave(&mut self, now: Instant) {
        self.go_away(now);
        self.close_if_done(now);
    }

    fn go_away(&mut self, now: Instant) {
        if self.leaving.is_some() {
            return;
        }
        self.leaving = Some(now);
        if let Some(control) = self.control {
            let _ = self.quic.send_stream(control).write_chunks(&mut [Bytes::from(h3::goaway(self.next))]);
        }
    }

    fn close_if_done(&mut self, now: Instant) {
        // The last answer is the client's only once it has said so: a close would take back what is on its way.
        if self.leaving.is_some_and(|told| told + self.farewell() <= now)
            && self.streams.is_empty()
            && self.unacknowledged() == 0
        {
            self.close(now, Code::NoError, "");
        }
    }

    /// How long a client has for what it asked before it heard that it should not: a few ways there and back, for one of
    /// them may be lost. It learns then that the request was rejected, and may ask elsewhere.
    fn farewell(&self) -> Duration {
        (self.quic.rtt() * 4).clamp(SHORTEST_FAREWELL, LONGEST_FAREWELL)
    }

    /// Answers that the client has not acknowledged whole; the server's own streams never end.
    fn unacknowledged(&mut self) -> usize {
        let own = if self.control.is_some() { 3 } else { 0 };
        self.quic.streams().send_streams().saturating_sub(own)
    }

    /// The client broke a rule, or makes work that leads nowhere: ends the connection, with a line in the log.
    fn offended(&mut self, code: Code, reason: &'static str, around: &Around<'_, S>) {
        if !self.is_over() {
            around.service.http3_failed(&self.connection, &reason);
        }
        self.close(around.now, code, reason);
    }

    /// A panic came up while it was looked at: its requests are lost, and nothing of it is believed any more.
    pub(super) fn lost_by(&mut self, panic: &str, around: &Around<'_, S>) {
        around.service.connection_lost(&self.connection, panic);
        self.streams.clear();
        self.close(around.now, Code::Internal, "internal error");
        self.bury(around);
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
            self.go_away(now);
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
