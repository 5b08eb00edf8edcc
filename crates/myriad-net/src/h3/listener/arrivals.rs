//! Received datagrams of a QUIC listener: for its own connections, for other workers and processes, and from new
//! clients.

use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::{DatagramEvent, Incoming, Transmit};

use super::QuicListener;
use crate::connection::{ClientAddress, Connection, next_serial};
use crate::connection_limiter::ClientGuard;
use crate::h3::address_proof::AddressProof;
use crate::h3::cid::{CidOwner, LENGTH, destination};
use crate::h3::client::QuicClient;
use crate::h3::handshakes::HandshakeDecision;
use crate::h3::settings::QuicSettings;
use crate::h3::worker_inboxes::Datagram;
use crate::service::{ConnectionEvent, Service};

/// Worker or process to which a received datagram is forwarded.
enum DatagramRecipient {
    /// This worker, which processes the datagram.
    Own,
    /// Another worker of this process.
    Worker(u8),
    /// A worker of another process.
    Process(CidOwner),
}

impl<S: Service> QuicListener<S> {
    /// Processes one batch of datagrams from each socket (if this process reads the sockets) and the datagrams passed
    /// on by other workers and processes. Returns true if a socket may have more.
    pub(super) fn receive(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        let mut more = false;
        let mut datagrams = Vec::new();
        let sockets = if self.place.relay.reads() { &self.sockets[..] } else { &[] };
        for socket in sockets {
            // An error belongs to a datagram sent earlier that could not be delivered.
            if let Poll::Ready(outcome) =
                socket.poll_receive(cx, &mut self.buffers, |datagram| datagrams.push(datagram))
            {
                more |= outcome.is_ok();
            }
        }
        for datagram in datagrams {
            match self.recipient(&datagram.bytes) {
                DatagramRecipient::Own => self.handle(now, datagram, cx),
                DatagramRecipient::Worker(worker) => self.place.crossing.enqueue(worker, datagram),
                DatagramRecipient::Process(owner) => {
                    // If that process has exited, the client gets a stateless reset, which any worker can send.
                    if !self.place.relay.forward(owner, &datagram) {
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

    fn recipient(&self, datagram: &BytesMut) -> DatagramRecipient {
        let Some((id, is_long)) = destination(datagram) else { return DatagramRecipient::Own };
        let worker = match self.cids.owner(id) {
            Some(owner) if owner.process != self.place.process => return DatagramRecipient::Process(owner),
            Some(owner) => owner.worker,
            // The client has chosen this ID for its first datagrams. A hash of the ID selects the same worker for all
            // of them.
            None if is_long && !self.place.alone => first_worker(id, self.place.crossing.workers()),
            None => return DatagramRecipient::Own,
        };
        if worker == self.place.worker { DatagramRecipient::Own } else { DatagramRecipient::Worker(worker) }
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
                    client.record_source(from.ip(), came);
                    self.mark_pending(handle.0);
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

    /// Sends a datagram that belongs to no connection, such as a Retry; drops it if the socket is full.
    fn send_once(&self, transmit: &Transmit, bytes: &[u8], cx: &mut Context<'_>) {
        let _ = self.sockets[0].poll_send(cx, transmit, bytes);
    }

    /// Accepts or refuses a new connection. Returns the datagram to send if no connection is created: a Retry, or a
    /// refusal. `None` if a connection is created, if nothing can be sent to the client, or if the datagram is ignored
    /// because another process will receive its repetition.
    fn incoming(
        &mut self,
        now: Instant,
        incoming: Incoming,
        came: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let shown = incoming.remote_address_validated();
        if self.leaving && !shown && self.place.relay.has_successor() {
            // The client sends its first datagram again and then reaches the process that reads the sockets by now. A
            // Retry would bring the client back to this process.
            self.endpoint.ignore(incoming);
            return None;
        }
        let from = incoming.remote_address();
        let bound = self.sockets[0].local;
        let local = SocketAddr::new(incoming.local_ip().unwrap_or(bound.ip()), bound.port());
        let connection = Connection::without_socket(
            next_serial(),
            self.place.number,
            (ClientAddress::Inet(from), local),
            None,
        );
        let settings = self.service.quic(&connection).filter(|_| !self.leaving);
        let Some(settings) = settings else {
            return Some(self.endpoint.refuse(incoming, out));
        };
        if !self.limiter.has_room() {
            self.limiter.record_refusal();
            return Some(self.endpoint.refuse(incoming, out));
        }
        // No connection is evicted for a client whose address may be forged.
        let must_show = settings.retry || self.limiter.is_short();
        match self.handshakes.decide(from.ip(), shown) {
            HandshakeDecision::Accept if must_show && !shown => return self.retry(incoming, out),
            HandshakeDecision::Retry => return self.retry(incoming, out),
            HandshakeDecision::Refuse => return Some(self.endpoint.refuse(incoming, out)),
            HandshakeDecision::Accept => {}
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
        self.limiter.make_room();
        let guard = ClientGuard::new(&self.limiter, &connection);
        self.service.count_event(ConnectionEvent::Accepted);
        let from = quic.remote_address().ip();
        let mut client =
            Box::new(QuicClient::new((quic, handle.0), (shown, proof), connection, guard, settings, now));
        client.counted = Some(from);
        client.wake_by(&self.wakes);
        client.received(came);
        self.handshakes.begin(from);
        if self.clients.len() <= handle.0 {
            self.clients.resize_with(handle.0 + 1, || None);
        }
        self.clients[handle.0] = Some(client);
        self.open += 1;
        self.mark_pending(handle.0);
        None
    }
}

/// Selects the worker for the first datagrams of a client by a hash of the ID that the client chose.
fn first_worker(id: &[u8], workers: usize) -> u8 {
    (xxhash_rust::xxh3::xxh3_64(&id[..id.len().min(2 * LENGTH)]) % workers as u64) as u8
}
