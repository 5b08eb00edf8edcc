//! Received datagrams of a hub: those of its connections, of other workers and processes, and of clients that open a
//! connection.

use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{DatagramEvent, Incoming, Transmit};

use super::Hub;
use crate::connection::{Connection, Peer, next_serial};
use crate::h3::address_proof::AddressProof;
use crate::h3::cid::{LENGTH, Owner, destination};
use crate::h3::client::Client;
use crate::h3::crossing::Datagram;
use crate::h3::handshakes::Reception;
use crate::h3::settings::QuicSettings;
use crate::seats::Guard;
use crate::service::{ConnectionEvent, Service};

/// Recipient of a datagram.
enum Addressee {
    Own,
    /// Another worker of this process.
    Worker(u8),
    /// A worker of another process.
    Process(Owner),
}

impl<S: Service> Hub<S> {
    /// Reads datagrams. Returns whether more may be available.
    pub(super) fn receive(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        let mut more = false;
        let mut datagrams = Vec::new();
        let sockets = if self.place.relay.reads() { &self.sockets[..] } else { &[] };
        for socket in sockets {
            // An error belongs to an earlier datagram that could not be delivered.
            if let Poll::Ready(outcome) =
                socket.poll_receive(cx, &mut self.buffers, |datagram| datagrams.push(datagram))
            {
                more |= outcome.is_ok();
            }
        }
        for datagram in datagrams {
            match self.addressee(&datagram.bytes) {
                Addressee::Own => self.handle(now, datagram, cx),
                Addressee::Worker(worker) => self.place.crossing.pass(worker, datagram),
                Addressee::Process(owner) => {
                    // A datagram of a process that has exited gets a reset, which any worker can send.
                    if !self.place.relay.pass(owner, &datagram) {
                        self.handle(now, datagram, cx);
                    }
                }
            }
        }
        for datagram in self.place.crossing.take(self.place.worker) {
            self.handle(now, datagram, cx);
        }
        more
    }

    fn addressee(&self, datagram: &BytesMut) -> Addressee {
        let Some((id, is_long)) = destination(datagram) else { return Addressee::Own };
        let worker = match self.names.owner(id) {
            Some(owner) if owner.process != self.place.process => return Addressee::Process(owner),
            Some(owner) => owner.worker,
            // The ID was chosen by the client for its first datagrams: all of them go to one worker.
            None if is_long && !self.place.alone => first_worker(id, self.place.crossing.workers()),
            None => return Addressee::Own,
        };
        if worker == self.place.worker { Addressee::Own } else { Addressee::Worker(worker) }
    }

    fn handle(&mut self, now: Instant, datagram: Datagram, cx: &mut Context<'_>) {
        let Datagram { bytes, from, to, ecn } = datagram;
        let came = bytes.len();
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        match self.endpoint.handle(now, from, to, ecn, bytes, &mut out) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(Some(client)) = self.clients.get_mut(handle.0) {
                    client.received(came);
                    client.quic.handle_event(event);
                    client.came_from(from.ip(), came);
                    self.mark(handle.0);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                if let Some(transmit) = self.incoming(now, incoming, came, &mut out) {
                    self.send_once(&transmit, &out, cx);
                }
            }
            Some(DatagramEvent::Response(transmit)) => self.send_once(&transmit, &out, cx),
            None => {}
        }
        self.out = out;
    }

    /// Sends a datagram without a connection; it is lost if the socket is full.
    fn send_once(&self, transmit: &Transmit, bytes: &[u8], cx: &mut Context<'_>) {
        let _ = self.sockets[0].poll_send(cx, transmit, bytes);
    }

    /// Handles a client that opens a connection. Returns the datagram to send if no connection is created.
    fn incoming(
        &mut self,
        now: Instant,
        incoming: Incoming,
        came: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let shown = incoming.remote_address_validated();
        if self.leaving && !shown && self.place.relay.has_successor() {
            // The client retries without a response, and reaches the process that reads the sockets now. A client that
            // returns after a Retry would reach this process again.
            self.endpoint.ignore(incoming);
            return None;
        }
        let from = incoming.remote_address();
        let bound = self.sockets[0].local;
        let local = SocketAddr::new(incoming.local_ip().unwrap_or(bound.ip()), bound.port());
        let connection =
            Connection::without_socket(next_serial(), self.place.number, (Peer::Inet(from), local), None);
        let settings = self.service.quic(&connection).filter(|_| !self.leaving);
        let Some(settings) = settings else {
            return Some(self.endpoint.refuse(incoming, out));
        };
        if !self.seats.has_room() {
            self.seats.note_refused();
            return Some(self.endpoint.refuse(incoming, out));
        }
        // No connection is evicted for a forged address.
        let must_show = settings.retry || self.seats.is_short();
        match self.handshakes.receive(from.ip(), shown) {
            Reception::Accept if must_show && !shown => return self.retry(incoming, out),
            Reception::Retry => return self.retry(incoming, out),
            Reception::Refuse => return Some(self.endpoint.refuse(incoming, out)),
            Reception::Accept => {}
        }
        self.accept(now, (incoming, came), connection, &settings, out)
    }

    fn retry(&mut self, incoming: Incoming, out: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.retry(incoming, out).ok()
    }

    fn accept(
        &mut self,
        now: Instant,
        (incoming, came): (Incoming, usize),
        connection: Rc<Connection>,
        settings: &QuicSettings,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let proof = AddressProof::default();
        let config = settings.server_config(&self.place.tokens, &proof);
        let shown = incoming.remote_address_validated();
        let (handle, quic) = match self.endpoint.accept(incoming, now, out, Some(config)) {
            Ok(accepted) => accepted,
            Err(error) => return error.response,
        };
        self.seats.make_room();
        let guard = Guard::new(&self.seats, &connection);
        self.service.note(ConnectionEvent::Accepted);
        let from = quic.remote_address().ip();
        let mut client =
            Box::new(Client::new((quic, handle.0), (shown, proof), connection, guard, settings, now));
        client.counted = Some(from);
        client.wake_by(&self.wakes);
        client.received(came);
        self.handshakes.begin(from);
        if self.clients.len() <= handle.0 {
            self.clients.resize_with(handle.0 + 1, || None);
        }
        self.clients[handle.0] = Some(client);
        self.open += 1;
        self.mark(handle.0);
        None
    }
}

/// Selects the worker for the first datagrams of a client.
fn first_worker(id: &[u8], workers: usize) -> u8 {
    (xxhash_rust::xxh3::xxh3_64(&id[..id.len().min(2 * LENGTH)]) % workers as u64) as u8
}
