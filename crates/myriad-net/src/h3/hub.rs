//! QUIC listener of one worker: its sockets, its connections, and the task that drives them.

mod arrivals;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use myriad_http::RequestHead;
use quinn_proto::{ConnectionHandle, Endpoint, EndpointConfig, ServerConfig, Transmit};
use tokio::time::Sleep;

use super::address_proof::AddressProof;
use super::cid::{Names, Owner};
use super::client::{Around, Client};
use super::datagram_socket::{Buffers, DatagramSocket};
use super::handshakes::Handshakes;
use super::place::QuicPlace;
use super::sending::Scratch;
use super::stream_wakes::StreamWakes;
use super::timers::Timers;
use super::tls::{ChooseTls, Crypto, VERSION};
use super::users::{Users, WeakUsers};
use crate::containment::{attempt, spawn_vital};
use crate::deadline::{self, Deadline};
use crate::seats::Seats;
use crate::service::Service;
use crate::test_panic::test_panic;
use crate::tls::Refusal;

/// Maximum number of rounds (read a batch of datagrams, process connections) before other tasks of this thread run.
const ROUNDS: usize = 8;
/// Minimum interval between stateless resets (RFC 9000 section 10.3.3).
const RESETS_APART: Duration = Duration::from_millis(1);

/// QUIC listener of one worker.
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
    /// Number of connections.
    open: usize,
    /// Connections with pending events.
    marked: VecDeque<usize>,
    wakes: Arc<StreamWakes>,
    timers: Timers,
    sleep: Pin<Box<Sleep>>,
    handshakes: Handshakes,
    /// Datagrams that wait for room in the socket.
    stuck: Option<(Transmit, Vec<u8>)>,
    out: Vec<u8>,
    head: RequestHead,
    scratch: Scratch,
    users: WeakUsers,
    leaving: bool,
    /// Deadline that is never armed, but woken by reloads.
    renewed: Deadline,
    /// Number of reloads announced to clients.
    epoch: u32,
}

/// TLS settings for packets without a connection.
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
    /// Starts the task of the sockets, which all have the same address.
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
            users: users.downgrade(),
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
        self.users.attend(cx.waker());
        let _ = self.renewed.poll_expired(cx);
        for _ in 0..ROUNDS {
            let now = Instant::now();
            let received = self.receive(now, cx);
            self.look_at_woken(now);
            self.keep_time(now, cx);
            if self.users.are_gone() && !self.leaving {
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

    /// Sleeps until the next event or timer.
    fn rest(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(at) = self.timers.next() {
            self.sleep.as_mut().reset(at.into());
            if self.sleep.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }

    fn mark(&mut self, place: usize) {
        if let Some(Some(client)) = self.clients.get_mut(place)
            && !std::mem::replace(&mut client.marked, true)
        {
            self.marked.push_back(place);
        }
    }

    /// Runs `work` on a client with the shared state, and contains panics.
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

    /// Sends a GOAWAY to the selected clients, so that they reconnect with the current settings.
    fn send_away(&mut self, now: Instant, whom: impl Fn(&Client<S>) -> bool) {
        for place in 0..self.clients.len() {
            if self.clients[place].as_deref().is_some_and(&whom) {
                self.with(place, now, |client, around| client.leave(around.now));
            }
        }
    }

    /// Processes the clients with pending events.
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

    /// Sends the waiting datagrams. Returns whether the socket has room.
    fn unstick(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some((transmit, bytes)) = &self.stuck {
            if self.sockets[0].poll_send(cx, transmit, bytes).is_pending() {
                return false;
            }
            self.stuck = None;
        }
        true
    }

    /// Sends the pending datagrams of a client. Returns `false` if the socket is full.
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
        // More datagrams are pending, but other clients are served first.
        self.mark(place);
        true
    }
}
