//! Client connection as seen by the HTTP service: its socket, addresses, TLS properties and activity.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

use myriad_http::proxy_protocol::ProxyHeader;

use crate::activity::{Activity, AwaitedEvent};
use crate::deadline::{self, Deadline};
use crate::multiplex::{Interim, Interims};
use crate::socket::ClientSocket;
use crate::tcp_info::TcpInfo;
use crate::tls::{TlsFacts, TlsSession};

static SERIAL: AtomicU64 = AtomicU64::new(1);

/// Returns the next serial number of a client connection, unique in this process.
pub(crate) fn next_serial() -> u64 {
    SERIAL.fetch_add(1, Ordering::Relaxed)
}

/// Address of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAddress {
    /// Address and port of a TCP or UDP client (`stream`, QUIC).
    Inet(SocketAddr),
    /// Client on a unix socket (`unix:` in nginx).
    Unix,
}

impl ClientAddress {
    /// Returns the client's IP address; `None` on a unix socket.
    pub fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Inet(address) => Some(address.ip()),
            Self::Unix => None,
        }
    }
}

/// Maximum number of times that a connection can be passed to another listener (`pass` in a `stream` server), as in
/// nginx.
const MAX_PASSES: usize = 10;

/// State of a connection that was passed to another listener (`pass` in a `stream` server).
#[derive(Default)]
struct PassState {
    /// Address of the last listener that the connection was passed to; `None` for a unix socket.
    address: Cell<Option<SocketAddr>>,
    /// Values that are dropped with the connection, one for each pass, such as `limit_conn` counts of earlier servers.
    retained: RefCell<Vec<Box<dyn Any>>>,
}

/// Client connection: its socket, the client's address, and state that outlives a request.
pub struct Connection {
    /// Serial number, unique in this process (`$connection`); 0 for internal requests. A placeholder
    /// ([`Self::handshake_placeholder`]) has the number of its connection.
    pub id: u64,
    /// Address of the socket's peer, unaffected by `set_real_ip_from` (realip).
    pub peer: ClientAddress,
    /// Number of the listener whose servers handle the connection, as given to [`crate::ConnectionWorker::listen`].
    listener: Cell<u32>,
    /// Client addresses from the PROXY protocol header, set before the first request; empty if there was no header or
    /// it contains no addresses.
    pub proxied: OnceCell<Box<ProxyHeader>>,
    /// Time of the accept, in milliseconds of the process clock (`$connection_time`).
    pub accepted_ms: u64,
    /// Number of requests started on the connection, including the current request (`$connection_requests`).
    pub requests: Cell<u32>,
    pub(crate) socket: ClientSocket,
    pub(crate) deadline: Deadline,
    /// Activity of the connection, which [`crate::ConnectionLimiter`] reads to select connections to evict.
    pub(crate) activity: Cell<Activity>,
    /// Set when the connection has been evicted; its slot in the connection limiter is free from then on.
    evicted: Cell<bool>,
    local: OnceCell<Option<SocketAddr>>,
    /// State set once the connection has been passed to another listener (`pass` in a `stream` server).
    passed: OnceCell<Box<PassState>>,
    tls: OnceCell<Box<TlsFacts>>,
    /// Set if the client sent plain HTTP to a TLS port (nginx's status 497).
    pub plain_to_tls: Cell<bool>,
    /// Set if TLS records start small and grow during the connection (no fixed `ssl_buffer_size`).
    pub(crate) sizes_records: Cell<bool>,
    /// Number of the HTTP/1 request whose response has not started, to which interim responses may be sent; 0 if there
    /// is none.
    pub(crate) waiting: Cell<u32>,
    /// Set if the handshake of an HTTP/3 connection was not complete when this flag was last updated: at each request,
    /// and when the handshake is complete.
    pub(crate) early: Cell<bool>,
    /// Interim responses for the driver of a multiplexed connection (HTTP/2, HTTP/3); not set on HTTP/1.
    interims: OnceCell<Box<Interims>>,
}

impl Connection {
    pub(crate) fn new(id: u64, listener: u32, peer: ClientAddress, socket: ClientSocket) -> Rc<Self> {
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
            evicted: Cell::new(false),
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

    /// Creates a connection without a socket, for a driver that transfers the bytes over another socket, such as QUIC.
    /// All socket operations fail.
    pub(crate) fn without_socket(
        id: u64,
        listener: u32,
        (peer, local): (ClientAddress, SocketAddr),
        tls: Option<TlsFacts>,
    ) -> Rc<Self> {
        let connection = Self::new(id, listener, peer, ClientSocket::none());
        let _ = connection.local.set(Some(local));
        if let Some(facts) = tls {
            let _ = connection.tls.set(Box::new(facts));
        }
        connection
    }

    /// Creates the connection that represents the UDP datagrams of one client.
    pub fn for_datagrams(listener: u32, peer: SocketAddr, local: SocketAddr) -> Rc<Self> {
        Self::without_socket(next_serial(), listener, (ClientAddress::Inet(peer), local), None)
    }

    /// Creates a connection without a client, for an internal request; its client address is 127.0.0.1. It is treated
    /// as a TLS connection if `tls` is given.
    pub fn for_internal_request(listener: u32, local: SocketAddr, tls: Option<TlsFacts>) -> Rc<Self> {
        Self::for_internal_request_of(Ipv4Addr::LOCALHOST.into(), listener, local, tls)
    }

    /// Same as [`Self::for_internal_request`], with `peer` as the address of the client.
    pub fn for_internal_request_of(
        peer: IpAddr,
        listener: u32,
        local: SocketAddr,
        tls: Option<TlsFacts>,
    ) -> Rc<Self> {
        let peer = ClientAddress::Inet(SocketAddr::from((peer, 0)));
        Self::without_socket(0, listener, (peer, local), tls)
    }

    /// Sets the TLS properties of an HTTP/3 connection, whose handshake QUIC performs.
    #[cfg(feature = "http3")]
    pub(crate) fn set_tls(&self, facts: Box<TlsFacts>) {
        // A connection has one handshake, so the cell is empty.
        let _ = self.tls.set(facts);
    }

    /// Marks the connection as multiplexed, so that interim responses are queued for its driver. Returns the queue.
    pub fn multiplex(&self) -> &Interims {
        self.interims.get_or_init(Box::default)
    }

    /// Marks the connection as idle. If it was idle already, its idle time continues.
    pub(crate) fn mark_idle(&self) {
        let requests = self.requests.get();
        if self.activity.get().awaited_event(requests) != Some(AwaitedEvent::Idle) {
            self.activity.set(Activity::idle(deadline::tick(), requests));
        }
    }

    /// Marks the connection as stalled by its client. If it was stalled already, its stall time continues.
    pub(crate) fn mark_stalled(&self) {
        let requests = self.requests.get();
        if self.activity.get().awaited_event(requests) != Some(AwaitedEvent::Stalled) {
            self.activity.set(Activity::stalled(deadline::tick(), requests));
        }
    }

    /// Marks the connection as busy: it does not wait for its client and is not evicted.
    pub(crate) fn mark_busy(&self) {
        self.activity.set(Activity::BUSY);
    }

    /// Evicts the connection. On a multiplexed connection, wakes the driver, which notifies the client; otherwise shuts
    /// the socket down.
    pub(crate) fn evict(&self) {
        self.evicted.set(true);
        match self.interims.get() {
            Some(interims) => interims.wake_driver(),
            None => self.socket.shutdown(),
        }
    }

    /// Returns true if the connection has been evicted.
    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.get()
    }

    /// Closes the connection after its driver has finished, with a TLS `close_notify` if there is a TLS session. The
    /// socket closes when the last reference is dropped. If other references exist, for example in a running fetch, the
    /// socket is shut down instead, so that the client does not wait until they are dropped.
    pub(crate) fn finish(self: &Rc<Self>) {
        if Rc::strong_count(self) > 1 {
            self.socket.shutdown();
        } else {
            self.socket.send_close_notify();
        }
    }

    /// Sends an interim response (1xx, RFC 9110 section 15.2) to request number `request`. `lines` are the field lines,
    /// each terminated by CRLF. Must not be called for HTTP/1.0 clients.
    ///
    /// On HTTP/1 the interim response is omitted if the response has started or the socket accepts no bytes; a partial
    /// write shuts the connection down.
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

    /// Returns the properties of the TLS session; `None` on a plain connection, and during the handshake, except for
    /// HTTP/3 requests in early data.
    pub fn tls(&self) -> Option<&TlsFacts> {
        self.tls.get().map(|facts| &**facts)
    }

    /// Returns true while the data being read may be TLS early data, which can be a replay (`$ssl_early_data`).
    pub fn is_early(&self) -> bool {
        self.early.get() || self.socket.is_early()
    }

    /// Creates a placeholder for a connection during its TLS handshake, for the evaluation of rules. It has the client,
    /// listener and PROXY header of the connection, and the requested server name.
    pub fn handshake_placeholder(&self, server_name: Option<&str>) -> Rc<Self> {
        let greeting =
            Self::placeholder_from_parts(self.id, self.listener(), (self.peer, self.local()), server_name);
        if let Some(header) = self.proxied.get() {
            let _ = greeting.proxied.set(header.clone());
        }
        greeting
    }

    /// Creates a placeholder as [`Self::handshake_placeholder`] does, for a connection that does not exist yet.
    pub fn placeholder_from_parts(
        id: u64,
        listener: u32,
        (peer, local): (ClientAddress, Option<SocketAddr>),
        server_name: Option<&str>,
    ) -> Rc<Self> {
        let facts = TlsFacts { server_name: server_name.map(Into::into), ..TlsFacts::typical() };
        let local = local.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)));
        Self::without_socket(id, listener, (peer, local), Some(facts))
    }

    pub(crate) fn set_tls_session(&self, facts: TlsFacts, session: TlsSession) {
        // A connection has one handshake, so the cell is empty.
        let _ = self.tls.set(Box::new(facts));
        self.socket.set_tls_session(session);
    }

    /// Returns the number of the listener whose servers handle the connection: the listener that accepted it, unless it
    /// was passed to another.
    #[inline]
    pub fn listener(&self) -> u32 {
        self.listener.get()
    }

    /// Passes the connection to another listener, as if that listener had accepted it at `address`. `held` is dropped
    /// when the connection is dropped. Returns false, without effect, after `MAX_PASSES` passes.
    pub fn pass_to(&self, listener: u32, address: Option<SocketAddr>, held: Box<dyn Any>) -> bool {
        let passed = self.passed.get_or_init(Box::default);
        if passed.retained.borrow().len() >= MAX_PASSES {
            return false;
        }
        passed.retained.borrow_mut().push(held);
        passed.address.set(address);
        self.listener.set(listener);
        true
    }

    /// Returns the server address of a TCP or UDP client's connection (`$server_addr`, `$server_port`): the address of
    /// the listener to which the connection was passed (unless that listener is a unix socket), otherwise the local
    /// address of the socket. `None` on a unix socket or after an error.
    pub fn local(&self) -> Option<SocketAddr> {
        self.passed.get().and_then(|passed| passed.address.get()).or_else(|| self.socket_address())
    }

    /// Returns the local address of the socket and caches it; `None` on a unix socket or after an error.
    fn socket_address(&self) -> Option<SocketAddr> {
        *self.local.get_or_init(|| match self.peer {
            ClientAddress::Inet(_) => {
                let name = self.socket.with(|socket| rustix::net::getsockname(socket))?.ok()?;
                SocketAddr::try_from(name).ok()
            }
            ClientAddress::Unix => None,
        })
    }

    /// Sets or clears `TCP_NODELAY` (`tcp_nodelay`). New connections inherit the option from the listener, where it is
    /// set.
    pub fn set_nodelay(&self, on: bool) {
        // Unix sockets do not have this option.
        let _ = self.socket.with(|socket| rustix::net::sockopt::set_tcp_nodelay(socket, on));
    }

    /// Returns the path of the local unix socket; `None` on TCP, or if the socket has no path.
    pub fn local_path(&self) -> Option<Vec<u8>> {
        let name = self.socket.with(|socket| rustix::net::getsockname(socket))?.ok()?;
        let name = rustix::net::SocketAddrUnix::try_from(name).ok()?;
        Some(name.path()?.to_bytes().to_vec())
    }

    /// Returns the kernel's current statistics of the connection. `None` on a unix socket, after an error, and for port
    /// 0 (no client), for which the query would return the listening socket.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        let ClientAddress::Inet(peer) = self.peer else { return None };
        if peer.port() == 0 {
            return None;
        }
        TcpInfo::of(self.socket_address()?, peer)
    }

    /// Returns the total number of bytes acknowledged by the client; `None` if the kernel does not report it.
    pub(crate) fn acked_bytes(&self) -> Option<u64> {
        self.tcp_info()?.bytes_acked
    }
}
