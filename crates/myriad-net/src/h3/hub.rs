//! A worker's share of a listener: its sockets, its connections, and the task that looks after them.

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use myriad_http::RequestHead;
use quinn_proto::{
    ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, Incoming, ServerConfig, Transmit,
};
use tokio::time::Sleep;

use super::address_proof::AddressProof;
use super::cid::{LENGTH, Names, Owner, destination};
use super::client::{Around, Client};
use super::crossing::Datagram;
use super::datagram_socket::{Buffers, DatagramSocket};
use super::handshakes::{Handshakes, Reception};
use super::place::QuicPlace;
use super::sending::Scratch;
use super::settings::QuicSettings;
use super::stream_wakes::StreamWakes;
use super::timers::Timers;
use super::tls::{ChooseTls, Crypto, Refusal, VERSION};
use crate::connection::{Connection, Peer, next_serial};
use crate::containment::{attempt, spawn_vital};
use crate::deadline::{self, Deadline};
use crate::seats::{Guard, Seats};
use crate::service::{ConnectionEvent, Service};
use crate::test_panic::test_panic;

/// Batches of datagrams that are read before connections get their turn, and turns before others on this thread get theirs.
const ROUNDS: usize = 8;
/// Stateless resets are sent no more often than this (RFC 9000 section 10.3.3).
const RESETS_APART: Duration = Duration::from_millis(1);

/// The acceptors of a listener; the last to be dropped sends its clients away.
#[derive(Clone)]
pub(crate) struct Users(Rc<UsersInner>);

struct UsersInner {
    gone: Rc<Cell<bool>>,
    task: std::sync::Mutex<Option<std::task::Waker>>,
}

impl Users {
    fn new() -> Self {
        Self(Rc::new(UsersInner { gone: Rc::default(), task: std::sync::Mutex::default() }))
    }

    /// Whether clients have been sent away: nobody can be joined any more.
    pub(crate) fn downgrade(&self) -> WeakUsers {
        WeakUsers(Rc::downgrade(&self.0))
    }
}

/// Knows whether somebody accepts.
pub(crate) struct WeakUsers(std::rc::Weak<UsersInner>);

impl WeakUsers {
    /// Joins those who accept, if there are any.
    pub(crate) fn join(&self) -> Option<Users> {
        self.0.upgrade().map(Users)
    }
}

impl Drop for UsersInner {
    fn drop(&mut self) {
        self.gone.set(true);
        let task = self.task.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// A worker's share of a listener.
pub(crate) struct Hub<S: Service> {
    service: Rc<S>,
    seats: Seats,
    place: QuicPlace,
    names: Names,
    sockets: Vec<DatagramSocket>,
    buffers: Buffers,
    segments: usize,
    endpoint: Endpoint,
    clients: Vec<Option<Box<Client<S>>>>,
    /// How many there are.
    open: usize,
    /// The clients that something has happened to.
    marked: VecDeque<usize>,
    wakes: Arc<StreamWakes>,
    timers: Timers,
    sleep: Pin<Box<Sleep>>,
    handshakes: Handshakes,
    /// Datagrams that the socket had no room for.
    stuck: Option<(Transmit, Vec<u8>)>,
    out: Vec<u8>,
    head: RequestHead,
    scratch: Scratch,
    gone: Rc<Cell<bool>>,
    users: std::rc::Weak<UsersInner>,
    leaving: bool,
    /// Rung by reloads, never by time.
    renewed: Deadline,
    /// The reloads that clients have been told of.
    epoch: u32,
}

/// What holds of packets before a connection is made of them.
struct NoServer;

impl ChooseTls for NoServer {
    fn choose(&self, _: &rustls::server::ClientHello<'_>) -> Result<Arc<rustls::ServerConfig>, Refusal> {
        Err(Refusal::UnrecognizedName)
    }

    fn keeps_offers(&self) -> bool {
        false
    }
}

impl<S: Service> Hub<S> {
    /// Begins to look after the sockets, which have all the same address.
    pub(crate) fn start(
        service: Rc<S>,
        seats: Seats,
        sockets: Vec<OwnedFd>,
        place: QuicPlace,
    ) -> io::Result<Users> {
        let sockets: Vec<DatagramSocket> =
            sockets.into_iter().map(DatagramSocket::new).collect::<io::Result<_>>()?;
        let first = sockets.first().ok_or(io::ErrorKind::InvalidInput)?;
        let own = Owner { worker: place.worker, process: place.process };
        let names = Names { key: place.secret.names, own };
        let mut config = EndpointConfig::new(Arc::clone(&place.secret.reset) as _);
        config
            .cid_generator(move || Box::new(names))
            .supported_versions(vec![VERSION])
            .min_reset_interval(RESETS_APART);
        let crypto = Arc::new(Crypto::new(Arc::new(NoServer), AddressProof::default()));
        let mut server = ServerConfig::new(crypto, Arc::clone(&place.tokens.key) as _);
        server.validation_token_config(place.tokens.config());
        let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(server)), !first.may_fragment(), None);
        let users = Users::new();
        let mut hub = Self {
            service,
            seats,
            place,
            names,
            buffers: first.buffers(),
            segments: first.segments(),
            sockets,
            endpoint,
            clients: Vec::new(),
            open: 0,
            marked: VecDeque::new(),
            wakes: Arc::default(),
            timers: Timers::default(),
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            handshakes: Handshakes::default(),
            stuck: None,
            out: Vec::new(),
            head: RequestHead::new(),
            scratch: Scratch::default(),
            gone: Rc::clone(&users.0.gone),
            users: Rc::downgrade(&users.0),
            leaving: false,
            renewed: Deadline::new(),
            epoch: deadline::epoch(),
        };
        let service = Rc::clone(&hub.service);
        spawn_vital(&service, "QUIC listener", async move { poll_fn(|cx| hub.poll(cx)).await });
        Ok(users)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        test_panic("quic");
        self.wakes.attend(cx.waker());
        self.place.crossing.attend(self.place.worker, cx.waker());
        if let Some(users) = self.users.upgrade() {
            *users.task.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(cx.waker().clone());
        }
        let _ = self.renewed.poll_expired(cx);
        for _ in 0..ROUNDS {
            let now = Instant::now();
            let received = self.receive(now, cx);
            self.look_at_woken(now);
            self.keep_time(now, cx);
            if self.gone.get() && !self.leaving {
                self.leaving = true;
                self.send_away(now, |_| true);
            }
            if deadline::epoch() != self.epoch {
                self.epoch = deadline::epoch();
                self.send_away(now, |client| !client.quic.is_handshaking());
            }
            self.turns(now, cx);
            if self.leaving && self.open == 0 {
                return Poll::Ready(());
            }
            if !received && (self.marked.is_empty() || self.stuck.is_some()) {
                return self.rest(cx);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Nothing is left to do until something happens.
    fn rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(at) = self.timers.next() {
            self.sleep.as_mut().reset(at.into());
            if self.sleep.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }

    /// Reads datagrams. Whether there may be more.
    fn receive(&mut self, now: Instant, cx: &mut Context<'_>) -> bool {
        let mut more = false;
        let mut datagrams = Vec::new();
        for socket in &self.sockets {
            // An error is one of an earlier datagram that could not be delivered.
            if let Poll::Ready(outcome) =
                socket.poll_receive(cx, &mut self.buffers, |datagram| datagrams.push(datagram))
            {
                more |= outcome.is_ok();
            }
        }
        for datagram in datagrams {
            match self.other_owner(&datagram.bytes) {
                Some(worker) => self.place.crossing.pass(worker, datagram),
                None => self.handle(now, datagram, cx),
            }
        }
        for datagram in self.place.crossing.take(self.place.worker) {
            self.handle(now, datagram, cx);
        }
        more
    }

    /// The worker that a datagram is for, where that is not this one.
    fn other_owner(&self, datagram: &BytesMut) -> Option<u8> {
        let (id, is_long) = destination(datagram)?;
        let own = self.place.worker;
        let worker = match self.names.owner(id) {
            Some(owner) if owner.process == self.place.process => owner.worker,
            // An ID that the client has invented for its first datagrams: all of them to one worker.
            None if is_long && !self.place.alone => first_worker(id, self.place.crossing.workers()),
            // What is of a process that is no more gets a reset, which any worker can make.
            _ => own,
        };
        (worker != own).then_some(worker)
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

    /// Sends what is no connection's: where there is no room, it is lost.
    fn send_once(&self, transmit: &Transmit, bytes: &[u8], cx: &mut Context<'_>) {
        let _ = self.sockets[0].poll_send(cx, transmit, bytes);
    }

    /// A client asks for a connection. Gives what it is told instead of one.
    fn incoming(
        &mut self,
        now: Instant,
        incoming: Incoming,
        came: usize,
        out: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let from = incoming.remote_address();
        let bound = self.sockets[0].local;
        let local = SocketAddr::new(incoming.local_ip().unwrap_or(bound.ip()), bound.port());
        let connection =
            Connection::without_socket(next_serial(), self.place.number, (Peer::Inet(from), local), None);
        let settings = self.service.quic(&connection).filter(|_| !self.leaving);
        let Some(settings) = settings.filter(|_| self.seats.make_room()) else {
            return Some(self.endpoint.refuse(incoming, out));
        };
        let shown = incoming.remote_address_validated();
        match self.handshakes.receive(from.ip(), shown) {
            Reception::Accept if settings.retry && !shown => return self.retry(incoming, out),
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

    fn mark(&mut self, place: usize) {
        if let Some(Some(client)) = self.clients.get_mut(place)
            && !std::mem::replace(&mut client.marked, true)
        {
            self.marked.push_back(place);
        }
    }

    /// Does something to a client, and to what all share.
    fn with(&mut self, place: usize, now: Instant, work: impl FnOnce(&mut Client<S>, &mut Around<'_, S>)) {
        let Some(Some(client)) = self.clients.get_mut(place) else { return };
        let mut around = Around {
            service: &self.service,
            wakes: &self.wakes,
            scratch: &mut self.scratch,
            head: &mut self.head,
            now,
        };
        if let Err(panic) = attempt(|| work(client, &mut around)) {
            client.lost_by(&panic, &around);
        }
        self.mark(place);
    }

    fn look_at_woken(&mut self, now: Instant) {
        for wake in self.wakes.take() {
            let known = self.clients.get(wake.place).and_then(Option::as_ref);
            if known.is_some_and(|client| client.id() == wake.connection) {
                self.with(wake.place, now, |client, around| client.woken(wake.stream, around));
            }
        }
    }

    fn keep_time(&mut self, now: Instant, _: &mut Context<'_>) {
        while let Some(place) = self.timers.due(now) {
            self.with(place, now, Client::tick);
        }
    }

    /// Sends clients away: who connects anew meets what holds now.
    fn send_away(&mut self, now: Instant, whom: impl Fn(&Client<S>) -> bool) {
        for place in 0..self.clients.len() {
            if self.clients[place].as_deref().is_some_and(&whom) {
                self.with(place, now, |client, around| client.leave(around.now));
            }
        }
    }

    /// Looks at the clients that something has happened to.
    fn turns(&mut self, now: Instant, cx: &mut Context<'_>) {
        if !self.unstick(cx) {
            return;
        }
        for _ in 0..self.marked.len() {
            let Some(place) = self.marked.pop_front() else { return };
            self.turn(place, now);
            if !self.flush(place, now, cx) {
                return;
            }
        }
    }

    fn turn(&mut self, place: usize, now: Instant) {
        loop {
            let Some(Some(client)) = self.clients.get_mut(place) else { return };
            client.marked = false;
            let mut told = false;
            while let Some(event) = client.quic.poll_endpoint_events() {
                told = true;
                let drained = event.is_drained();
                let answer = self.endpoint.handle_event(ConnectionHandle(place), event);
                if drained {
                    return self.remove(place, now);
                }
                if let Some(answer) = answer {
                    client.quic.handle_event(answer);
                }
            }
            let mut around = Around {
                service: &self.service,
                wakes: &self.wakes,
                scratch: &mut self.scratch,
                head: &mut self.head,
                now,
            };
            if let Err(panic) = attempt(|| client.events(&mut around)) {
                client.lost_by(&panic, &around);
            }
            if let Some(from) = client.counted.filter(|_| !client.quic.is_handshaking() || client.is_over()) {
                client.counted = None;
                self.handshakes.end(from);
            }
            if !told {
                return;
            }
        }
    }

    fn remove(&mut self, place: usize, now: Instant) {
        self.with(place, now, |client, around| client.bury(around));
        if let Some(client) = self.clients[place].take() {
            self.open -= 1;
            if let Some(from) = client.counted {
                self.handshakes.end(from);
            }
        }
    }

    /// Sends what the socket had no room for. Whether it has room now.
    fn unstick(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some((transmit, bytes)) = &self.stuck {
            if self.sockets[0].poll_send(cx, transmit, bytes).is_pending() {
                return false;
            }
            self.stuck = None;
        }
        true
    }

    /// Sends what a client is to get. False where the socket has no room for more.
    fn flush(&mut self, place: usize, now: Instant, cx: &mut Context<'_>) -> bool {
        let Some(Some(client)) = self.clients.get_mut(place) else { return true };
        for _ in 0..ROUNDS {
            self.out.clear();
            let Some(transmit) = client.next_datagrams(now, self.segments, &mut self.out) else {
                if let Some(at) = client.wake_at() {
                    self.timers.set(place, at);
                }
                return true;
            };
            if self.sockets[0].poll_send(cx, &transmit, &self.out).is_pending() {
                self.stuck = Some((transmit, std::mem::take(&mut self.out)));
                self.mark(place);
                return false;
            }
        }
        // There is more, but others want their turn.
        self.mark(place);
        true
    }
}

/// Which worker takes the first datagrams of a client.
fn first_worker(id: &[u8], workers: usize) -> u8 {
    (xxhash_rust::xxh3::xxh3_64(&id[..id.len().min(2 * LENGTH)]) % workers as u64) as u8
}
