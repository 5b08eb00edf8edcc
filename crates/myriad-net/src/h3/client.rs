//! QUIC connection of a client: its streams, its address validation and its lifetime.

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
use myriad_http::h3::{self, Http3ErrorCode, UniStreamRole};
use myriad_http::{RequestHead, ResetBudget};
use quinn_proto::{Connection as Quic, Dir, StreamId, Transmit, VarInt};

use super::address_proof::AddressProof;
use super::request::RequestStream;
use super::response_sender::EncodeBuffers;
use super::settings::QuicSettings;
use super::stream_wakes::{StreamWake, StreamWakes};
use super::unvalidated_address::{FrameCounters, SendDecision, UnvalidatedAddress};
use crate::client_timeouts::MinRate;
use crate::connection::Connection;
use crate::connection_limiter::ClientGuard;
use crate::deadline;
use crate::service::{ConnectionEvent, Service};

/// Minimum time between a GOAWAY and the close of the connection, for requests in transit.
const SHORTEST_FAREWELL: Duration = Duration::from_millis(50);
/// Maximum time between a GOAWAY and the close of the connection.
const LONGEST_FAREWELL: Duration = Duration::from_secs(1);

/// State of the listener that is passed to a connection while it is processed.
pub(super) struct HubContext<'a, S> {
    pub(super) service: &'a Rc<S>,
    pub(super) wakes: &'a Arc<StreamWakes>,
    pub(super) scratch: &'a mut EncodeBuffers,
    pub(super) head: &'a mut RequestHead,
    pub(super) now: Instant,
}

/// QUIC connection with a client, and its HTTP/3 requests.
pub(super) struct QuicClient<S: Service> {
    pub(super) quic: Quic,
    /// Index of the connection in the listener.
    index: usize,
    connection: Rc<Connection>,
    /// Registration with the connection limiter; `None` once the connection is closed, while QUIC runs for some round
    /// trips.
    guard: Option<ClientGuard>,
    streams: HashMap<StreamId, RequestStream<S::ExchangeState>>,
    /// Roles of the client's unidirectional streams, and the unprocessed bytes of each.
    one_way: HashMap<StreamId, (UniStreamRole, Vec<u8>)>,
    peer: h3::ClientUniStreams,
    control: Option<StreamId>,
    /// Stream on which the server sends its QPACK decoder instructions; `None` until it is opened.
    decoder: Option<StreamId>,
    /// ID of the stream after the last accepted one, announced in the GOAWAY.
    next: u64,
    /// Value of [`deadline::epoch`] at the start of the connection. After a reload it differs, and a GOAWAY is sent.
    epoch: u32,
    /// Time at which the GOAWAY was sent; `None` before.
    leaving: Option<Instant>,
    /// Set if the client validated its address with a Retry or NEW_TOKEN token before the handshake (RFC 9000 section
    /// 8.1).
    shown: bool,
    /// Number of bytes that may be sent before the client's address is validated (RFC 9000 section 8.1); `None` once it
    /// is. Stricter than quinn, which sends a whole datagram if it starts within the limit.
    credit: Option<u64>,
    /// Validation of the client's address by packets of the handshake.
    proof: AddressProof,
    /// IP address of the client that is validated, or that the handshake will validate; `None` if the address is
    /// unknown.
    proven: Option<IpAddr>,
    /// New address of the client after a migration, with its byte credit, until the address is validated.
    moved: Option<UnvalidatedAddress>,
    /// Datagram that is not sent until the byte credit of an unvalidated address suffices.
    withheld: Option<(Transmit, Vec<u8>)>,
    /// IP address under which the running handshake is counted by the handshake limits; `None` if it is not counted.
    pub(super) counted: Option<IpAddr>,
    /// Deadline of the handshake; `None` once it is complete, or if `client_header_timeout` is 0.
    handshake_until: Option<Instant>,
    /// Maximum idle time of the connection (`keepalive_timeout`).
    idle: Duration,
    stream_buffer: u64,
    resets: ResetBudget,
    /// Time of the last request activity, or of the start of the idle period.
    active: Instant,
    /// `client_header_timeout`; `None` for no limit.
    head_timeout: Option<Duration>,
    /// Measurement interval of `client_min_rate`; `None` if there is no minimum rate.
    head_grace: Option<Duration>,
    /// `client_min_rate`, applied to request heads.
    min_rate: MinRate,
    /// Time of the last periodic check of the connection, for example for requests whose heads arrive too slowly; also
    /// set when a stream is opened while no other is open.
    looked: Instant,
    /// Time at which the next request that waits for the end of its stream is passed to the service anyway; `None` if
    /// there is none.
    held_until: Option<Instant>,
    /// Set while the connection is in the listener's queue for processing.
    pub(super) marked: bool,
}

impl<S: Service> QuicClient<S> {
    pub(super) fn new(
        (quic, place): (Quic, usize),
        (shown, proof): (bool, AddressProof),
        connection: Rc<Connection>,
        guard: ClientGuard,
        settings: &QuicSettings,
        now: Instant,
    ) -> Self {
        let timeout = Duration::from_millis(settings.handshake_ms);
        let proven = connection.peer.ip();
        Self {
            quic,
            index: place,
            connection,
            guard: Some(guard),
            streams: HashMap::new(),
            one_way: HashMap::new(),
            peer: h3::ClientUniStreams::default(),
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
            resets: ResetBudget::new(settings.streams),
            active: now,
            head_timeout: (settings.handshake_ms > 0).then_some(timeout),
            head_grace: settings.head_grace(),
            min_rate: settings.min_rate,
            looked: now,
            held_until: None,
            marked: false,
        }
    }

    /// Returns the serial number of the connection.
    pub(super) fn id(&self) -> u64 {
        self.connection.id
    }

    /// Sets the waker that is called when an interim response is queued or the connection is evicted.
    pub(super) fn wake_by(&self, wakes: &Arc<StreamWakes>) {
        self.connection.multiplex().set_driver(&wakes.waker(self.wake(None)));
    }

    /// Evicts the connection: sends a GOAWAY; during the handshake, closes it immediately.
    fn evict(&mut self, now: Instant) {
        if self.quic.is_handshaking() {
            self.close(now, Http3ErrorCode::NoError, "too many connections");
        } else {
            self.shut_down(now);
        }
    }

    fn wake(&self, stream: Option<StreamId>) -> StreamWake {
        StreamWake { place: self.index, connection: self.connection.id, stream }
    }

    /// Adds send credit for a received datagram of `length` bytes, while the client's address is not validated: three
    /// times its size may be sent.
    pub(super) fn received(&mut self, length: usize) {
        self.credit = self.credit.map(|credit| credit + 3 * length as u64);
    }

    /// Records the source address of a processed datagram of `length` bytes. If QUIC has switched to this address and
    /// it is not validated, adds send credit for it.
    pub(super) fn record_source(&mut self, from: IpAddr, length: usize) {
        if self.quic.remote_address().ip() != from {
            return;
        }
        if self.moved.as_ref().is_some_and(|moved| moved.address != from) {
            self.forget_new_address();
        }
        if self.proven != Some(from) {
            self.moved = Some(UnvalidatedAddress::add_credit(self.moved.take(), from, length));
        }
    }

    /// Discards the state of the client's unvalidated new address and the datagram withheld for it.
    fn forget_new_address(&mut self) {
        self.moved = None;
        self.withheld = None;
    }

    /// Writes the next datagrams to send into `out`, which must be empty, and returns their size and destination: up to
    /// `most` datagrams, or one while the client's address is not validated. `None` if there are none or the credit of
    /// an unvalidated address does not suffice.
    pub(super) fn next_datagrams(
        &mut self,
        now: Instant,
        most: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        if self.moved.as_ref().is_some_and(|moved| moved.address != self.quic.remote_address().ip()) {
            self.forget_new_address();
        }
        while self.moved.is_some() {
            match self.next_to_moved(now, out)? {
                (_, SendDecision::DropProbe) => out.clear(),
                (transmit, _) => return Some(transmit),
            }
        }
        self.credit = self.credit.filter(|_| !self.proof.is_proven());
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

    /// Writes the next datagram for a client whose new address is not validated yet; `None` if there is none or it must
    /// wait for credit.
    fn next_to_moved(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<(Transmit, SendDecision)> {
        let moved = self.moved.as_mut()?;
        let (transmit, fate) = if let Some((transmit, bytes)) = self.withheld.take() {
            *out = bytes;
            let fate = moved.charge(&transmit);
            (transmit, fate)
        } else {
            let before = FrameCounters::of_connection(&self.quic);
            let transmit = self.quic.poll_transmit(now, 1, out)?;
            let fate = moved.decide(
                &transmit,
                before,
                FrameCounters::of_connection(&self.quic),
                !self.quic.is_closed(),
            );
            (transmit, fate)
        };
        match fate {
            SendDecision::Hold => {
                self.withheld = Some((transmit, std::mem::take(out)));
                return None;
            }
            SendDecision::SendAndValidate => self.proven = self.moved.take().map(|moved| moved.address),
            SendDecision::SendNow | SendDecision::DropProbe => {}
        }
        Some((transmit, fate))
    }

    /// Opens the server's control and QPACK streams. Does nothing more if the client's stream limit does not allow it.
    fn open_server_streams(&mut self, field_section: usize) {
        for (index, bytes) in h3::server_stream_prefaces(field_section).into_iter().enumerate() {
            let Some(id) = self.quic.streams().open(Dir::Uni) else { return };
            match index {
                0 => self.control = Some(id),
                2 => self.decoder = Some(id),
                _ => {}
            }
            let _ = self.quic.send_stream(id).write_chunks(&mut [Bytes::from(bytes)]);
        }
    }

    /// Sends acknowledgements of the client's insertions into the QPACK table. Closes the connection if too many
    /// acknowledgements are pending because the client does not read them.
    fn send_qpack_acks(&mut self, around: &HubContext<'_, S>) {
        let fields = self.peer.fields();
        if fields.output().is_empty() {
            return;
        }
        if let Some(decoder) = self.decoder {
            let written = self.quic.send_stream(decoder).write(fields.output()).unwrap_or(0);
            fields.output().drain(..written);
        }
        if let Err(error) = fields.check_pending_output() {
            self.close_with_error(error.code, error.reason, around);
        }
    }

    /// Sends a GOAWAY (RFC 9114 section 5.2), once. Closes the connection if [`Self::goaway_grace`] has passed since,
    /// all requests are done, and the client has acknowledged all responses.
    pub(super) fn shut_down(&mut self, now: Instant) {
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
        // The close discards data in transit, so the client must have acknowledged the last response.
        if self.leaving.is_some_and(|told| told + self.goaway_grace() <= now)
            && self.streams.is_empty()
            && self.unacknowledged() == 0
        {
            self.close(now, Http3ErrorCode::NoError, "");
        }
    }

    /// Returns the time after the GOAWAY for which the connection waits for requests that the client sent before it
    /// received the GOAWAY: four round trips, because a packet may be lost, but at least 50 ms and at most 1 s. Such
    /// requests are rejected, so that the client can retry them on another connection.
    fn goaway_grace(&self) -> Duration {
        (self.quic.rtt() * 4).clamp(SHORTEST_FAREWELL, LONGEST_FAREWELL)
    }

    /// Returns the number of responses that are not fully acknowledged by the client. The server's own streams do not
    /// count.
    fn unacknowledged(&mut self) -> usize {
        let own = if self.control.is_some() { 3 } else { 0 };
        self.quic.streams().send_streams().saturating_sub(own)
    }

    /// Closes the connection with an error and logs it: a protocol violation or excessive load.
    fn close_with_error(&mut self, code: Http3ErrorCode, reason: &'static str, around: &HubContext<'_, S>) {
        if !self.is_over() {
            around.service.http3_failed(&self.connection, &reason);
        }
        self.close(around.now, code, reason);
    }

    /// Closes the connection after a panic during its processing. Its requests are dropped.
    pub(super) fn on_panic(&mut self, panic: &str, around: &HubContext<'_, S>) {
        around.service.connection_lost(&self.connection, panic);
        self.streams.clear();
        self.close(around.now, Http3ErrorCode::Internal, "internal error");
        self.discard_streams(around);
    }

    fn close(&mut self, now: Instant, code: Http3ErrorCode, reason: &'static str) {
        let number = VarInt::from_u64(code.number()).unwrap_or(VarInt::MAX);
        self.quic.close(now, number, Bytes::from_static(reason.as_bytes()));
    }

    /// Returns true if datagrams come from another address than during the handshake. QUIC replies to the new address
    /// before it is validated (RFC 9000 section 9.3), so rules must not use it.
    fn has_moved(&self) -> bool {
        self.connection.peer.ip() != Some(self.quic.remote_address().ip())
    }

    /// Sends a GOAWAY to a client whose address changed, so that it reconnects: the new handshake validates its
    /// address. Requests already accepted are still served. During a handshake the connection is closed.
    fn watch_address(&mut self, now: Instant) {
        if self.is_over() || !self.has_moved() {
            return;
        }
        if self.quic.is_handshaking() {
            // A handshake from two addresses validates neither.
            self.close(now, Http3ErrorCode::NoError, "the client address changed during the handshake");
        } else {
            // The connection closes after the streams received until now are rejected.
            self.go_away(now);
        }
    }

    /// Returns true if the connection is closed; QUIC may still run for some round trips.
    pub(super) fn is_over(&self) -> bool {
        self.quic.is_closed()
    }

    /// Aborts all streams and frees the connection slot, once. QUIC runs for some more round trips.
    pub(super) fn discard_streams(&mut self, around: &HubContext<'_, S>) {
        let Some(guard) = self.guard.take() else { return };
        let ids: Vec<StreamId> = self.streams.keys().copied().collect();
        for id in ids {
            self.abort_stream(id, around);
        }
        self.streams.clear();
        around.service.count_event(ConnectionEvent::Closed);
        drop(guard);
    }
}
