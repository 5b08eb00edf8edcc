//! Processing of UDP datagrams. The datagrams of one client form a session, with its own socket to the peer.
//!
//! ```text
//! datagram of a new client -> slot -> admission -> set -> return: one datagram back
//!                                                     -> proxy_pass: relayed in both directions
//!   --proxy_responses received, silence, or shutdown of the worker--> logged
//! ```
//! A relayed session takes two slots of `worker_connections`, for itself and for its peer, so that a flood of forged
//! sender addresses is limited as connections are. Without a free slot for the session the datagram is dropped; without
//! one for the peer the session fails with the status 502.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use myriad_exchange::runtime::ServerId;
use myriad_log::LogLevel;
use myriad_net::deadline::{self, Deadline};
use myriad_net::{Connection, UdpSocket};
use myriad_upstream::DialedConnection;
use tokio::io::{Interest, ReadBuf};
use tokio::sync::mpsc;

use crate::stream::admission::admit;
use crate::stream::direction_rate::DirectionRate;
use crate::stream::pass;
use crate::stream::runtime::{StreamContent, StreamGroup, WorkerStreams};
use crate::stream::session::StreamSession;
use crate::stream::target;
use crate::stream::tcp::{
    dial_for, finish, log_connect_error, log_new_client, log_no_handler, set_variables,
};

/// Maximum number of client datagrams queued for a UDP session. Further ones are dropped.
const MOST_WAITING: usize = 64;
/// Maximum total size in bytes of the client datagrams queued in all UDP sessions of a worker. Further ones are
/// dropped.
const MOST_WAITING_BYTES: usize = 16 << 20;
/// Size in bytes of the receive buffer for datagrams from peers; sufficient for the largest possible UDP datagram.
const LONGEST: usize = 65_536;

thread_local! {
    /// Number of open UDP sessions of this worker.
    static SESSIONS: Cell<usize> = const { Cell::new(0) };
    /// Total size in bytes of all client datagrams queued in this worker.
    static WAITING: Cell<usize> = const { Cell::new(0) };
    /// Buffer for receiving datagrams from peers.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Returns the number of open UDP sessions of this worker. Relayed sessions are closed when the worker drains.
pub fn sessions() -> usize {
    SESSIONS.get()
}

/// Guard that counts a UDP session until it is dropped.
struct UdpSessionGuard;

impl UdpSessionGuard {
    fn new() -> Self {
        SESSIONS.set(SESSIONS.get() + 1);
        Self
    }
}

impl Drop for UdpSessionGuard {
    fn drop(&mut self) {
        SESSIONS.set(SESSIONS.get() - 1);
    }
}

/// Queued datagram of a client; its bytes count towards the limit of the worker until it is dropped.
struct QueuedDatagram(Bytes);

impl QueuedDatagram {
    /// Copies a received datagram for a queue; `None` if the queues of the worker would exceed [`MOST_WAITING_BYTES`].
    fn new(bytes: &[u8]) -> Option<Self> {
        let waiting = WAITING.get() + bytes.len();
        if waiting > MOST_WAITING_BYTES {
            return None;
        }
        WAITING.set(waiting);
        Some(Self(Bytes::copy_from_slice(bytes)))
    }
}

impl Drop for QueuedDatagram {
    fn drop(&mut self) {
        WAITING.set(WAITING.get() - self.0.len());
    }
}

/// Addresses of client and server, which identify a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DatagramAddresses {
    client: SocketAddr,
    local: SocketAddr,
}

/// UDP sessions of a listening socket that still accept datagrams of their clients: queues of the datagrams, by the
/// addresses of client and server.
type OpenSessions = Rc<RefCell<HashMap<DatagramAddresses, mpsc::Sender<QueuedDatagram>>>>;

/// Listening UDP socket with its sessions.
#[derive(Clone)]
struct UdpListener {
    streams: Rc<WorkerStreams>,
    /// Number of the listening socket.
    number: u32,
    socket: Rc<UdpSocket>,
    open: OpenSessions,
}

impl WorkerStreams {
    /// Returns a future that processes the datagrams of a listening socket. If it is dropped, sessions that have
    /// started continue. Fails if the socket cannot be prepared for asynchronous use.
    pub fn receive(
        self: &Rc<Self>,
        number: u32,
        socket: OwnedFd,
    ) -> io::Result<Pin<Box<dyn Future<Output = ()>>>> {
        let socket = Rc::new(UdpSocket::new(socket)?);
        let listener =
            UdpListener { streams: Rc::clone(self), number, socket, open: OpenSessions::default() };
        Ok(Box::pin(async move { listener.serve().await }))
    }
}

impl UdpListener {
    async fn serve(self) {
        let mut buffer = Vec::new();
        loop {
            let take = |arrival: myriad_net::ReceivedDatagram<'_>| {
                let ends = DatagramAddresses { client: arrival.from, local: arrival.to };
                if let Some(datagram) = QueuedDatagram::new(arrival.bytes) {
                    self.dispatch(ends, datagram);
                }
            };
            if self.socket.receive(&mut buffer, take).await.is_err() {
                // The error concerns a datagram that was sent earlier; the socket remains usable.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Passes a received datagram to its session, or starts a session for it. Drops the datagram if the queue of the
    /// session is full, no connection slot is free, or no server listens on the local address.
    fn dispatch(&self, ends: DatagramAddresses, datagram: QueuedDatagram) {
        let known = self.open.borrow().get(&ends).cloned();
        let Some(session) = known else { return self.start_session(ends, datagram) };
        // The queue is closed if the session has just ended.
        if let Err(mpsc::error::TrySendError::Closed(datagram)) = session.try_send(datagram) {
            self.start_session(ends, datagram);
        }
    }

    fn start_session(&self, ends: DatagramAddresses, datagram: QueuedDatagram) {
        let listener = self.streams.runtime.listeners.get(&self.number);
        let Some(hosts) = listener.and_then(|listener| listener.hosts_at(|| Some(ends.local))) else {
            return;
        };
        let Some(slot) = self.streams.worker.connection_limiter.take_slot() else { return };
        let (sender, mut datagrams) = mpsc::channel(MOST_WAITING);
        let _ = sender.try_send(datagram);
        self.open.borrow_mut().insert(ends, sender.clone());
        let (listener, default) = (self.clone(), hosts.default);
        tokio::task::spawn_local(async move {
            let _held = (slot, UdpSessionGuard::new());
            listener.run_session(ends, default, &mut datagrams).await;
            listener.remove_session(ends, &sender);
        });
    }

    /// Removes a session from the open sessions, so that the client's next datagram starts another. No effect if
    /// another session has already replaced it.
    fn remove_session(&self, ends: DatagramAddresses, sender: &mpsc::Sender<QueuedDatagram>) {
        let mut open = self.open.borrow_mut();
        if open.get(&ends).is_some_and(|known| known.same_channel(sender)) {
            open.remove(&ends);
        }
    }

    async fn run_session(
        &self,
        ends: DatagramAddresses,
        default: ServerId,
        datagrams: &mut mpsc::Receiver<QueuedDatagram>,
    ) {
        let connection = Connection::for_datagrams(self.number, ends.client, ends.local);
        let session = StreamSession::new(Rc::clone(&self.streams), connection, default, true);
        log_new_client(&session);
        session.count_start();
        let status = match admit(&session).and_then(|counted| set_variables(&session).map(|()| counted)) {
            Ok(_counted) => self.run_content(&session, ends, datagrams).await,
            Err(status) => status,
        };
        finish(&session, status);
    }

    async fn run_content(
        &self,
        session: &StreamSession,
        ends: DatagramAddresses,
        datagrams: &mut mpsc::Receiver<QueuedDatagram>,
    ) -> u16 {
        let named;
        let group = match &session.server().content {
            StreamContent::Nothing => return log_no_handler(session),
            StreamContent::Pass(_) => return pass::refuse_datagrams(session),
            StreamContent::Return(text) => {
                let Ok(text) = session.eval(text) else { return 500 };
                if let Ok(datagram) = datagrams.try_recv() {
                    session.received.set(datagram.0.len() as u64);
                }
                if self.socket.send(&text, ends.client, ends.local).await.is_ok() {
                    session.sent.set(text.len() as u64);
                }
                return 200;
            }
            StreamContent::Group(group) => group,
            StreamContent::Named(name) => match target::group_for_target(session, name).await {
                Ok(group) => {
                    named = group;
                    &named
                }
                Err(status) => return status,
            },
        };
        self.relay_to_peer(session, ends, group, datagrams).await
    }

    async fn relay_to_peer(
        &self,
        session: &StreamSession,
        ends: DatagramAddresses,
        group: &StreamGroup,
        datagrams: &mut mpsc::Receiver<QueuedDatagram>,
    ) -> u16 {
        let dial = match dial_for(session, group) {
            Ok(dial) => dial,
            Err(status) => return status,
        };
        let connections = &session.streams.worker.origins;
        let dialed =
            group.group.dial_datagrams(connections, &dial, |error| log_connect_error(session, error)).await;
        let peer = match dialed {
            Ok(peer) => peer,
            Err(error) => {
                log_connect_error(session, &error);
                return 502;
            }
        };
        let server = session.server();
        let mut relay = UdpRelay {
            listener: self,
            session,
            ends,
            peer: &peer,
            requests: 0,
            responses: 0,
            failed: false,
            upload: DirectionRate::new(target::eval_rate(session, &server.upload_rate)),
            download: DirectionRate::new(target::eval_rate(session, &server.download_rate)),
            pauses: [Deadline::new(), Deadline::new()],
            came: 0,
        };
        let status = relay.run(datagrams).await;
        if relay.failed {
            group.group.record_dial_failure(&peer);
        }
        status
    }
}

/// Event of a UDP session.
enum RelayEvent {
    /// A datagram has arrived from the client.
    Request(QueuedDatagram),
    /// A datagram has arrived from the peer, or the socket has reported an error, such as a closed port.
    Response(io::Result<Bytes>),
    /// No datagram was received from client or peer within `proxy_timeout`.
    Silence,
    /// The worker is shutting down.
    Worker,
}

/// Relay of datagrams between the client and the peer of a UDP session.
struct UdpRelay<'a> {
    listener: &'a UdpListener,
    session: &'a StreamSession,
    ends: DatagramAddresses,
    peer: &'a DialedConnection<PeerSocket>,
    /// Number of datagrams sent to the peer.
    requests: u64,
    /// Number of datagrams received from the peer.
    responses: u64,
    /// Set after an error of the peer's socket (such as a closed port) when sending or receiving, or if the peer has
    /// not sent the expected responses within `proxy_timeout`.
    failed: bool,
    upload: DirectionRate,
    download: DirectionRate,
    /// Deadlines that wake the task when the upload or download rate limit allows more bytes.
    pauses: [Deadline; 2],
    /// Number of bytes received from the peer.
    came: u64,
}

impl UdpRelay<'_> {
    /// Relays datagrams until the session must close. Returns the status of the session.
    async fn run(&mut self, datagrams: &mut mpsc::Receiver<QueuedDatagram>) -> u16 {
        let settings = &self.session.server().settings;
        let silence = Deadline::new();
        let peer = self.peer;
        let mut refusal = pin!(wait_for_icmp_error(&peer.link));
        loop {
            silence.set(settings.timeout);
            let event = poll_fn(|cx| {
                if !self.failed
                    && let Poll::Ready(error) = refusal.as_mut().poll(cx)
                {
                    return Poll::Ready(RelayEvent::Response(Err(error)));
                }
                self.poll(datagrams, &silence, cx)
            });
            let event = event.await;
            match event {
                RelayEvent::Request(QueuedDatagram(ref bytes)) => {
                    self.requests += 1;
                    self.session.received.set(self.session.received.get() + bytes.len() as u64);
                    match self.peer.link.send(bytes).await {
                        Ok(sent) => self.peer.sent(sent),
                        Err(_) => self.failed = true,
                    }
                }
                RelayEvent::Response(Ok(bytes)) => {
                    let length = bytes.len();
                    self.responses += 1;
                    self.came += length as u64;
                    self.peer.received(length);
                    let DatagramAddresses { client, local } = self.ends;
                    if self.listener.socket.send(&bytes, client, local).await.is_ok() {
                        self.session.sent.set(self.session.sent.get() + length as u64);
                    }
                }
                // As in nginx, an error counts as a response, because none will follow.
                RelayEvent::Response(Err(error)) => {
                    self.responses += 1;
                    self.failed = true;
                    self.log_failure(format_args!("recv() failed ({error})"));
                }
                RelayEvent::Silence => return self.on_silence(),
                RelayEvent::Worker => {
                    self.session.log(LogLevel::Info, format_args!("disconnected on shutdown"));
                    return 200;
                }
            }
            if settings.requests > 0 && self.requests >= settings.requests {
                self.close_queue(datagrams);
            }
            if self.is_done() {
                self.log_summary("udp done");
                return 200;
            }
        }
    }

    /// Stops accepting datagrams of the client. Queued and later datagrams start another session.
    fn close_queue(&self, datagrams: &mut mpsc::Receiver<QueuedDatagram>) {
        datagrams.close();
        while let Ok(datagram) = datagrams.try_recv() {
            self.listener.dispatch(self.ends, datagram);
        }
    }

    fn poll(
        &mut self,
        datagrams: &mut mpsc::Receiver<QueuedDatagram>,
        silence: &Deadline,
        cx: &mut Context<'_>,
    ) -> Poll<RelayEvent> {
        if deadline::draining() {
            return Poll::Ready(RelayEvent::Worker);
        }
        if rate_allows(self.upload, self.session.received.get(), &self.pauses[0], cx)
            && let Poll::Ready(Some(datagram)) = datagrams.poll_recv(cx)
        {
            return Poll::Ready(RelayEvent::Request(datagram));
        }
        if rate_allows(self.download, self.came, &self.pauses[1], cx) {
            let received = BUFFER.with_borrow_mut(|buffer| {
                buffer.resize(LONGEST, 0);
                let mut room = ReadBuf::new(buffer);
                let received = self.peer.link.poll_recv(cx, &mut room);
                received.map_ok(|()| Bytes::copy_from_slice(room.filled()))
            });
            if let Poll::Ready(received) = received {
                return Poll::Ready(RelayEvent::Response(received));
            }
        }
        silence.poll_expired(cx).map(|()| RelayEvent::Silence)
    }

    /// Returns true if the session is complete: `proxy_responses` is set, the peer has sent that number of datagrams
    /// for each client datagram (an error of the peer's socket counts as one), and the client has sent `proxy_requests`
    /// datagrams, if that is set.
    fn is_done(&self) -> bool {
        let settings = &self.session.server().settings;
        let are_all = settings.requests == 0 || self.requests >= settings.requests;
        are_all && self.all_answered() && settings.responses.is_some()
    }

    fn all_answered(&self) -> bool {
        let responses = self.session.server().settings.responses;
        responses.is_none_or(|each| self.responses >= each.saturating_mul(self.requests))
    }

    fn on_silence(&mut self) -> u16 {
        if self.all_answered() {
            self.log_summary("udp timed out");
            return 200;
        }
        self.failed = true;
        self.log_failure(format_args!("upstream timed out (110: Connection timed out)"));
        502
    }

    fn log_failure(&self, what: std::fmt::Arguments<'_>) {
        let peer = self.session.last_peer();
        self.session.log(LogLevel::Error, format_args!("{what} while proxying, upstream: \"{peer}\""));
    }

    fn log_summary(&self, what: &str) {
        let Self { session, requests, responses, came, .. } = self;
        session.log(
            LogLevel::Info,
            format_args!(
                "{what}, packets from/to client:{requests}/{responses}, bytes from/to client:{}/{}, bytes from upstream:{came}",
                session.received.get(),
                session.sent.get(),
            ),
        );
    }
}

/// Socket of a session for its peer.
type PeerSocket = tokio::net::UdpSocket;

/// Waits for an ICMP error on the socket, such as a closed port, and returns the error. Such errors do not make the
/// socket readable.
async fn wait_for_icmp_error(socket: &PeerSocket) -> io::Error {
    loop {
        if socket.ready(Interest::ERROR).await.is_err() {
            return pending().await;
        }
        if let Ok(Some(error)) = socket.take_error() {
            return error;
        }
        // Another operation has taken the error: waits for the next.
        let again = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
        let _ = socket.try_io(Interest::ERROR, again);
    }
}

/// Returns true if the rate limit allows more bytes after `moved` bytes. Otherwise the task is woken when the limit
/// allows more.
fn rate_allows(pace: DirectionRate, moved: u64, pause: &Deadline, cx: &Context<'_>) -> bool {
    match pace.allowance(moved) {
        Ok(_) => true,
        Err(wait_ms) => {
            pause.set(wait_ms);
            // Registers the task; the deadline was just set.
            let _ = pause.poll_expired(cx);
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_that_wait_are_bounded_in_bytes() {
        let datagram = vec![0; LONGEST];
        let waiting: Vec<QueuedDatagram> =
            std::iter::from_fn(|| QueuedDatagram::new(&datagram)).take(MOST_WAITING_BYTES).collect();
        assert_eq!(waiting.len(), MOST_WAITING_BYTES / LONGEST);
        assert!(QueuedDatagram::new(b"one more").is_none());
        drop(waiting);
        assert!(QueuedDatagram::new(b"there is room again").is_some());
        assert_eq!(WAITING.get(), 0);
    }
}
