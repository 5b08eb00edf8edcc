//! QUIC listener of one worker: its sockets, its connections, and the task that drives them.
//!
//! `arrivals` handles received datagrams.

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

use super::acceptor_refs::{AcceptorRefs, WeakAcceptorRefs};
use super::address_proof::AddressProof;
use super::cid::{CidGenerator, CidOwner};
use super::client::{HubContext, QuicClient};
use super::datagram_socket::{DatagramSocket, ReceiveBuffers};
use super::handshakes::HandshakeCounters;
use super::response_sender::EncodeBuffers;
use super::stream_wakes::StreamWakes;
use super::timers::Timers;
use super::tls::{ChooseTls, QuicServerCrypto, VERSION};
use super::worker_sockets::QuicWorkerSockets;
use crate::connection_limiter::ConnectionLimiter;
use crate::deadline::{self, Deadline};
use crate::panic_handling::{catch_panic_in, spawn_vital};
use crate::service::Service;
use crate::test_panic::test_panic;
use crate::tls::Refusal;

/// Maximum number of rounds per poll of the listener's task, so that other tasks of the thread run. A round reads a
/// batch of datagrams and processes the connections. Also the maximum number of sends per connection in a round.
const ROUNDS: usize = 8;
/// Minimum interval between stateless resets that a QUIC listener sends (RFC 9000 section 10.3.3).
const RESET_INTERVAL: Duration = Duration::from_millis(1);

/// QUIC listener of one worker.
pub(crate) struct QuicListener<S: Service> {
    service: Rc<S>,
    limiter: ConnectionLimiter,
    place: QuicWorkerSockets,
    cids: CidGenerator,
    sockets: Vec<DatagramSocket>,
    buffers: ReceiveBuffers,
    /// Maximum number of datagrams per send that the kernel splits from one buffer.
    segments: usize,
    endpoint: Endpoint,
    clients: Vec<Option<Box<QuicClient<S>>>>,
    /// Number of connections in `clients`.
    open: usize,
    /// Indexes of the connections with pending events, in the order in which they are processed.
    pending: VecDeque<usize>,
    wakes: Arc<StreamWakes>,
    timers: Timers,
    sleep: Pin<Box<Sleep>>,
    handshakes: HandshakeCounters,
    /// Datagrams that wait because the send buffer of the socket is full; `None` if none wait.
    stuck: Option<(Transmit, Vec<u8>)>,
    out: Vec<u8>,
    head: RequestHead,
    scratch: EncodeBuffers,
    users: WeakAcceptorRefs,
    leaving: bool,
    /// Deadline that is never set; used because its waker also runs on configuration reloads.
    renewed: Deadline,
    /// Value of [`deadline::epoch`] (number of reloads) when a GOAWAY was last sent to the clients for a reload, or at
    /// the start of the listener.
    epoch: u32,
}

/// Default TLS settings of the quinn endpoint, which reject all clients. Each accepted connection gets separate
/// settings.
struct NoServer;

impl ChooseTls for NoServer {
    fn choose(&self, _: &rustls::server::ClientHello<'_>) -> Result<Arc<rustls::ServerConfig>, Refusal> {
        Err(Refusal::UnrecognizedName)
    }

    fn stores_offers(&self) -> bool {
        false
    }
}

impl<S: Service> QuicListener<S> {
    /// Starts the task of a listener on the given sockets, which must have the same address. Fails if there is no
    /// socket or one cannot be prepared.
    pub(crate) fn start(
        service: Rc<S>,
        limiter: ConnectionLimiter,
        sockets: Vec<OwnedFd>,
        place: QuicWorkerSockets,
    ) -> io::Result<AcceptorRefs> {
        let sockets: Vec<DatagramSocket> =
            sockets.into_iter().map(DatagramSocket::new).collect::<io::Result<_>>()?;
        let first = sockets.first().ok_or(io::ErrorKind::InvalidInput)?;
        let own = CidOwner { worker: place.worker, process: place.process };
        let names = CidGenerator { key: place.secret.names, own };
        let mut config = EndpointConfig::new(Arc::clone(&place.secret.reset) as _);
        config
            .cid_generator(move || Box::new(names))
            .supported_versions(vec![VERSION])
            .min_reset_interval(RESET_INTERVAL);
        let crypto = Arc::new(QuicServerCrypto::new(Arc::new(NoServer), AddressProof::default()));
        let mut server = ServerConfig::new(crypto, Arc::clone(&place.tokens.key) as _);
        server.validation_token_config(place.tokens.config());
        let endpoint = Endpoint::new(Arc::new(config), Some(Arc::new(server)), !first.may_fragment(), None);
        let users = AcceptorRefs::new();
        let mut hub = Self {
            service,
            limiter,
            place,
            cids: names,
            buffers: first.buffers(),
            segments: first.segments(),
            sockets,
            endpoint,
            clients: Vec::new(),
            open: 0,
            pending: VecDeque::new(),
            wakes: Arc::default(),
            timers: Timers::default(),
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            handshakes: HandshakeCounters::default(),
            stuck: None,
            out: Vec::new(),
            head: RequestHead::new(),
            scratch: EncodeBuffers::default(),
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
        self.wakes.set_task(cx.waker());
        self.place.crossing.set_waker(self.place.worker, cx.waker());
        self.users.set_task(cx.waker());
        let _ = self.renewed.poll_expired(cx);
        for _ in 0..ROUNDS {
            let now = Instant::now();
            let received = self.receive(now, cx);
            self.mark_woken(now);
            self.run_timers(now);
            if self.users.are_gone() && !self.leaving {
                self.leaving = true;
                self.send_goaway(now, |_| true);
            }
            if deadline::epoch() != self.epoch {
                self.epoch = deadline::epoch();
                self.send_goaway(now, |client| !client.quic.is_handshaking());
            }
            self.process_pending(now, cx);
            if self.leaving && self.open == 0 {
                return Poll::Ready(());
            }
            if !received && (self.pending.is_empty() || self.stuck.is_some()) {
                return self.poll_next_event(cx);
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Sets the sleep to the next timer; wakes the task if that has expired already.
    fn poll_next_event(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(at) = self.timers.next() {
            self.sleep.as_mut().reset(at.into());
            if self.sleep.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        Poll::Pending
    }

    fn mark_pending(&mut self, place: usize) {
        if let Some(Some(client)) = self.clients.get_mut(place)
            && !std::mem::replace(&mut client.marked, true)
        {
            self.pending.push_back(place);
        }
    }

    /// Calls `work` with a client and the shared state. A panic closes only this client.
    fn with_client(
        &mut self,
        place: usize,
        now: Instant,
        work: impl FnOnce(&mut QuicClient<S>, &mut HubContext<'_, S>),
    ) {
        let Some(Some(client)) = self.clients.get_mut(place) else { return };
        let mut around = HubContext {
            service: &self.service,
            wakes: &self.wakes,
            scratch: &mut self.scratch,
            head: &mut self.head,
            now,
        };
        if let Err(panic) = catch_panic_in(|| work(client, &mut around)) {
            client.on_panic(&panic, &around);
        }
        self.mark_pending(place);
    }

    fn mark_woken(&mut self, now: Instant) {
        for wake in self.wakes.take() {
            let known = self.clients.get(wake.place).and_then(Option::as_ref);
            if known.is_some_and(|client| client.id() == wake.connection) {
                self.with_client(wake.place, now, |client, around| client.on_wake(wake.stream, around));
            }
        }
    }

    fn run_timers(&mut self, now: Instant) {
        while let Some(place) = self.timers.due(now) {
            self.with_client(place, now, QuicClient::tick);
        }
    }

    /// Sends a GOAWAY to the clients for which `selects` returns true, so that they reconnect.
    fn send_goaway(&mut self, now: Instant, selects: impl Fn(&QuicClient<S>) -> bool) {
        for place in 0..self.clients.len() {
            if self.clients[place].as_deref().is_some_and(&selects) {
                self.with_client(place, now, |client, around| client.shut_down(around.now));
            }
        }
    }

    /// Processes the clients with pending events and sends their datagrams, until the socket is full.
    fn process_pending(&mut self, now: Instant, cx: &mut Context<'_>) {
        if !self.send_blocked(cx) {
            return;
        }
        for _ in 0..self.pending.len() {
            let Some(place) = self.pending.pop_front() else { return };
            self.process_client(place, now);
            if !self.flush(place, now, cx) {
                return;
            }
        }
    }

    fn process_client(&mut self, place: usize, now: Instant) {
        loop {
            let Some(Some(client)) = self.clients.get_mut(place) else { return };
            client.marked = false;
            let mut has_events = false;
            while let Some(event) = client.quic.poll_endpoint_events() {
                has_events = true;
                let drained = event.is_drained();
                let answer = self.endpoint.handle_event(ConnectionHandle(place), event);
                if drained {
                    return self.remove(place, now);
                }
                if let Some(answer) = answer {
                    client.quic.handle_event(answer);
                }
            }
            let mut around = HubContext {
                service: &self.service,
                wakes: &self.wakes,
                scratch: &mut self.scratch,
                head: &mut self.head,
                now,
            };
            if let Err(panic) = catch_panic_in(|| client.process_events(&mut around)) {
                client.on_panic(&panic, &around);
            }
            if let Some(from) = client.counted.filter(|_| !client.quic.is_handshaking() || client.is_over()) {
                client.counted = None;
                self.handshakes.end(from);
            }
            if !has_events {
                return;
            }
        }
    }

    fn remove(&mut self, place: usize, now: Instant) {
        self.with_client(place, now, |client, around| client.discard_streams(around));
        if let Some(client) = self.clients[place].take() {
            self.open -= 1;
            if let Some(from) = client.counted {
                self.handshakes.end(from);
            }
        }
    }

    /// Sends the datagrams that the socket did not accept before. Returns false if it is still full.
    fn send_blocked(&mut self, cx: &mut Context<'_>) -> bool {
        if let Some((transmit, bytes)) = &self.stuck {
            if self.sockets[0].poll_send(cx, transmit, bytes).is_pending() {
                return false;
            }
            self.stuck = None;
        }
        true
    }

    /// Sends pending datagrams of a client. Returns false if the socket is full.
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
                self.mark_pending(place);
                return false;
            }
        }
        // More datagrams may be pending, but other clients are served first.
        self.mark_pending(place);
        true
    }
}
