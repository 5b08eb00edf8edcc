//! One client connection, as the service sees it.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use myriad_http::proxy_protocol::ProxyHeader;

use crate::activity::{Activity, Waiting};
use crate::deadline::{self, Deadline};
use crate::multiplex::{Interim, Interims};
use crate::socket::Socket;
use crate::tcp_info::TcpInfo;
use crate::tls::{Session, TlsFacts};

static SERIAL: AtomicU64 = AtomicU64::new(1);

/// The next connection's number.
pub(crate) fn next_serial() -> u64 {
    SERIAL.fetch_add(1, Ordering::Relaxed)
}

/// The client's end of the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A TCP client.
    Inet(SocketAddr),
    /// A client on a unix socket (`unix:` in nginx's words).
    Unix,
}

impl Peer {
    /// The client's address, none on a unix socket.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Inet(address) => Some(address.ip()),
            Self::Unix => None,
        }
    }
}

/// Maximum number of times that a connection is passed to another listener, as in nginx.
const MAX_PASSES: usize = 10;

/// Where a connection was passed to.
#[derive(Default)]
struct Passed {
    /// Address of the listener that it was passed to last; `None` for a unix socket.
    address: Cell<Option<SocketAddr>>,
    /// Values that are dropped with the connection, one for each time that it was passed.
    held: RefCell<Vec<Box<dyn Any>>>,
}

/// A connection: its socket, who is on the other end, and what the driver keeps between requests.
pub struct Connection {
    /// Serial number, unique in this process (`$connection`).
    pub id: u64,
    /// The socket's peer, before any `realip`.
    pub peer: Peer,
    /// Number of the listener whose servers serve it, as given to [`crate::Worker::listen`].
    listener: Cell<u32>,
    /// What the PROXY protocol said of the client; set before the first request, where it said something.
    pub proxied: OnceCell<Box<ProxyHeader>>,
    /// When it was accepted, milliseconds since the epoch (`$connection_time`).
    pub accepted_ms: u64,
    /// Requests begun on it, the current one included (`$connection_requests`).
    pub requests: Cell<u32>,
    pub(crate) socket: Socket,
    pub(crate) deadline: Deadline,
    /// Whether it waits for its client, as far as others are concerned.
    pub(crate) activity: Cell<Activity>,
    /// Its seat was given to somebody else: it is to end.
    gives_way: Cell<bool>,
    local: OnceCell<Option<SocketAddr>>,
    /// Set once the connection was passed to another listener.
    passed: OnceCell<Box<Passed>>,
    tls: OnceCell<Box<TlsFacts>>,
    /// The client speaks plain HTTP to a port of TLS (nginx's 497).
    pub plain_to_tls: Cell<bool>,
    /// Whether records of TLS are sized as the connection goes on.
    pub(crate) sizes_records: Cell<bool>,
    /// Number of the request whose answer is waited for: nothing of it has been sent. 0 where there is none.
    pub(crate) waiting: Cell<u32>,
    /// The driver of a connection without a socket has not seen the end of the handshake.
    pub(crate) early: Cell<bool>,
    /// The way of interim responses on a connection of many streams; none on HTTP/1.
    interims: OnceCell<Box<Interims>>,
}

impl Connection {
    pub(crate) fn new(id: u64, listener: u32, peer: Peer, socket: Socket) -> Rc<Self> {
        Rc::new(Self {
            id,
            peer,
            listener: Cell::new(listener),
            proxied: OnceCell::new(),
            accepted_ms: crate::clock::now_ms(),
            requests: Cell::new(0),
            socket,
            deadline: Deadline::new(),
            activity: Cell::new(Activity::idle(deadline::tick(), 0)),
            gives_way: Cell::new(false),
            local: OnceCell::new(),
            passed: OnceCell::new(),
            tls: OnceCell::new(),
            plain_to_tls: Cell::new(false),
            sizes_records: Cell::new(false),
            waiting: Cell::new(0),
            early: Cell::new(false),
            interims: OnceCell::new(),
        })
    }

    /// A connection without a socket of its own: its driver moves the bytes. Everything that is asked of a socket fails.
    pub(crate) fn without_socket(
        id: u64,
        listener: u32,
        (peer, local): (Peer, SocketAddr),
        tls: Option<TlsFacts>,
    ) -> Rc<Self> {
        let connection = Self::new(id, listener, peer, Socket::none());
        let _ = connection.local.set(Some(local));
        if let Some(facts) = tls {
            let _ = connection.tls.set(Box::new(facts));
        }
        connection
    }

    /// What stands for the datagrams of one client.
    pub fn of_datagrams(listener: u32, peer: SocketAddr, local: SocketAddr) -> Rc<Self> {
        Self::without_socket(next_serial(), listener, (Peer::Inet(peer), local), None)
    }

    /// A connection that nobody is on, to take a request through the service without a client; over TLS where there are
    /// facts of that.
    pub fn imagined(listener: u32, local: SocketAddr, tls: Option<TlsFacts>) -> Rc<Self> {
        let peer = Peer::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        Self::without_socket(0, listener, (peer, local), tls)
    }

    /// Says what TLS came to, where a driver does without a session of its own.
    pub(crate) fn set_tls(&self, facts: Box<TlsFacts>) {
        // A connection has one handshake.
        let _ = self.tls.set(facts);
    }

    /// Makes this a connection of many streams: interim responses go to its driver.
    pub fn multiplex(&self) -> &Interims {
        self.interims.get_or_init(Box::default)
    }

    /// Nothing is under way on it; where that was so before, the time goes on.
    pub(crate) fn rest(&self) {
        let requests = self.requests.get();
        if self.activity.get().waiting(requests) != Some(Waiting::Idle) {
            self.activity.set(Activity::idle(deadline::tick(), requests));
        }
    }

    /// The client is waited for; where that was so before, the time goes on.
    pub(crate) fn stall(&self) {
        let requests = self.requests.get();
        if self.activity.get().waiting(requests) != Some(Waiting::Stalled) {
            self.activity.set(Activity::stalled(deadline::tick(), requests));
        }
    }

    /// The client is not what is waited for any more.
    pub(crate) fn go_on(&self) {
        self.activity.set(Activity::BUSY);
    }

    /// Ends the connection for the sake of another: one of streams says so to its client, any other closes.
    pub(crate) fn give_way(&self) {
        self.gives_way.set(true);
        match self.interims.get() {
            Some(interims) => interims.wake_driver(),
            None => self.socket.shutdown(),
        }
    }

    /// Whether it was told to end for the sake of another.
    pub(crate) fn has_given_way(&self) -> bool {
        self.gives_way.get()
    }

    /// The driver is done. The socket closes with the last who holds the connection; where that is not the driver (a page
    /// being fetched remembers who asked), the client must not wait for it.
    pub(crate) fn end(self: &Rc<Self>) {
        if Rc::strong_count(self) > 1 {
            self.socket.shutdown();
        } else {
            self.socket.say_goodbye();
        }
    }

    /// Sends an interim response ahead of the answer to the request of that number (RFC 9110 section 15.2): its reason and
    /// field lines, each ended by CRLF. Not for HTTP/1.0 clients. It is left out where a byte of the answer has been sent
    /// already, or there is no room for it at once: no client depends on one. A connection that takes part of it is broken.
    pub fn send_interim(&self, request: u32, status: u16, reason: &str, lines: &[u8]) {
        if let Some(interims) = self.interims.get() {
            return interims.push(Interim { request, status, lines: lines.into() });
        }
        if self.waiting.get() != request {
            return;
        }
        let mut text = format!("HTTP/1.1 {status} {reason}\r\n").into_bytes();
        text.extend_from_slice(lines);
        text.extend_from_slice(b"\r\n");
        if (&self.socket).write(&text).is_ok_and(|written| written < text.len()) {
            self.waiting.set(0);
            self.socket.shutdown();
        }
    }

    /// What client and server agreed on by TLS; none on a plain connection.
    pub fn tls(&self) -> Option<&TlsFacts> {
        self.tls.get().map(|facts| &**facts)
    }

    /// Whether what is read now was sent ahead of the handshake's end, so that it may be a replay (`$ssl_early_data`).
    pub fn is_early(&self) -> bool {
        self.early.get() || self.socket.is_early()
    }

    /// A stand-in for a connection that is still shaking hands, for rules that are asked about it: the same client and
    /// listener, and the name that was asked for.
    pub fn greeting(&self, server_name: Option<&str>) -> Rc<Self> {
        let greeting = Self::greeting_of(self.id, self.listener(), (self.peer, self.local()), server_name);
        if let Some(header) = self.proxied.get() {
            let _ = greeting.proxied.set(header.clone());
        }
        greeting
    }

    /// The greeting of a connection that is known by its number, listener and addresses alone.
    pub fn greeting_of(
        id: u64,
        listener: u32,
        (peer, local): (Peer, Option<SocketAddr>),
        server_name: Option<&str>,
    ) -> Rc<Self> {
        let facts = TlsFacts { server_name: server_name.map(Into::into), ..TlsFacts::imagined() };
        let local = local.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        Self::without_socket(id, listener, (peer, local), Some(facts))
    }

    pub(crate) fn secure(&self, facts: TlsFacts, session: Session) {
        // A connection has one handshake.
        let _ = self.tls.set(Box::new(facts));
        self.socket.secure(session);
    }

    /// Returns the number of the listener whose servers serve the connection: the listener that accepted it, unless it was passed
    /// to another.
    #[inline]
    pub fn listener(&self) -> u32 {
        self.listener.get()
    }

    /// Passes the connection to another listener, as if it had been accepted there at `address`; `held` is dropped with the
    /// connection. Returns false if it was passed too often already.
    pub fn pass_to(&self, listener: u32, address: Option<SocketAddr>, held: Box<dyn Any>) -> bool {
        let passed = self.passed.get_or_init(Box::default);
        if passed.held.borrow().len() >= MAX_PASSES {
            return false;
        }
        passed.held.borrow_mut().push(held);
        passed.address.set(address);
        self.listener.set(listener);
        true
    }

    /// Returns the server's end of a TCP connection (`$server_addr`, `$server_port`): the address it was passed to, or that of the
    /// socket.
    pub fn local(&self) -> Option<SocketAddr> {
        self.passed.get().and_then(|passed| passed.address.get()).or_else(|| self.socket_address())
    }

    /// Returns the address of the socket; the kernel is asked once.
    fn socket_address(&self) -> Option<SocketAddr> {
        *self.local.get_or_init(|| match self.peer {
            Peer::Inet(_) => {
                let name = self.socket.with(|socket| rustix::net::getsockname(socket))?.ok()?;
                SocketAddr::try_from(name).ok()
            }
            Peer::Unix => None,
        })
    }

    /// Whether small packets are sent at once (`tcp_nodelay`); listeners have it on, which connections inherit.
    pub fn set_nodelay(&self, on: bool) {
        // A unix socket has no such option, and needs none.
        let _ = self.socket.with(|socket| rustix::net::sockopt::set_tcp_nodelay(socket, on));
    }

    /// The path of the unix socket that was connected to; none on TCP, or where the socket has no path.
    pub fn local_path(&self) -> Option<Vec<u8>> {
        let name = self.socket.with(|socket| rustix::net::getsockname(socket))?.ok()?;
        let name = rustix::net::SocketAddrUnix::try_from(name).ok()?;
        Some(name.path()?.to_bytes().to_vec())
    }

    /// What the kernel knows of the connection as it is now; none on a unix socket, and where nobody is on it: port 0 would find
    /// the socket that listens.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        let Peer::Inet(peer) = self.peer else { return None };
        if peer.port() == 0 {
            return None;
        }
        TcpInfo::of(self.socket_address()?, peer)
    }

    /// How many bytes the client has taken of all that was written to the connection; none where the kernel does not tell.
    pub(crate) fn taken(&self) -> Option<u64> {
        self.tcp_info()?.bytes_acked
    }
}
