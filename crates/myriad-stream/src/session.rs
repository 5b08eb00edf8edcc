//! One connection, as scripts and logs see it.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::runtime::ServerId;
use myriad_exchange::traffic::{TlsEnd, TrafficZone};
use myriad_http::proxy_protocol::ProxyHeader;
use myriad_log::Level;
use myriad_net::{Connection, Peer, TlsFacts};
use myriad_script::{EvalError, Frame, Template};
use myriad_upstream::Attempts;

use crate::limits::LimitStatus;
use crate::preread::Hello;
use crate::runtime::{Server, Streams};

/// A connection of TCP, or what one client sends by UDP.
pub(crate) struct Session {
    pub streams: Rc<Streams>,
    /// The server; a name that the client asks for may lead to another one.
    pub server: Cell<ServerId>,
    /// The connection of TCP, or one that stands for a client of UDP.
    pub connection: Rc<Connection>,
    /// Whether it is UDP.
    pub is_datagram: bool,
    /// The client, where a proxy that is believed has told it.
    pub real: Cell<Option<SocketAddr>>,
    pub began_ms: u64,
    /// Bytes from the client.
    pub received: Cell<u64>,
    /// Bytes to the client.
    pub sent: Cell<u64>,
    /// `$status`; 0 while it goes on.
    pub status: Cell<u16>,
    /// Client hello read by `ssl_preread`; unset if the client does not speak TLS.
    pub hello: OnceCell<Hello>,
    pub limited: Cell<Option<LimitStatus>>,
    pub attempts: Attempts,
    /// Where it is counted as long as it goes on.
    pub counted: Cell<Option<Arc<TrafficZone>>>,
    pub frame: RefCell<Frame>,
}

impl Session {
    pub(crate) fn new(
        streams: Rc<Streams>,
        connection: Rc<Connection>,
        server: ServerId,
        is_datagram: bool,
    ) -> Self {
        Self {
            streams,
            server: Cell::new(server),
            connection,
            is_datagram,
            real: Cell::new(None),
            began_ms: myriad_net::clock::now_ms(),
            received: Cell::new(0),
            sent: Cell::new(0),
            status: Cell::new(0),
            hello: OnceCell::new(),
            limited: Cell::new(None),
            attempts: Attempts::new(),
            counted: Cell::new(None),
            frame: RefCell::default(),
        }
    }

    pub(crate) fn server(&self) -> &Server {
        self.streams.runtime.server(self.server.get())
    }

    /// Counts it as begun, once it is known which server it is for.
    pub(crate) fn count(&self) {
        let Some(zone) = &self.server().traffic else { return };
        zone.begin(self.streams.worker.number);
        self.counted.set(Some(Arc::clone(zone)));
    }

    /// Counts the end of a handshake of TLS, for its server and for all.
    pub(crate) fn count_handshake(&self, end: TlsEnd) {
        let worker = &self.streams.worker;
        worker.counters.served.shake_hands(end);
        if let Some(zone) = &self.server().traffic {
            zone.shake_hands(worker.number, end);
        }
    }

    /// The client's address; none on a unix socket.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        self.real.get().map_or_else(|| self.connection.peer.ip(), |real| Some(real.ip()))
    }

    /// The client's address and port.
    pub(crate) fn client_socket(&self) -> Option<SocketAddr> {
        self.real.get().or(match self.connection.peer {
            Peer::Inet(peer) => Some(peer),
            Peer::Unix => None,
        })
    }

    /// What the PROXY protocol said of the client.
    pub(crate) fn proxied(&self) -> Option<&ProxyHeader> {
        self.connection.proxied.get().map(|header| &**header)
    }

    /// What TLS with the client came to.
    pub(crate) fn tls(&self) -> Option<&TlsFacts> {
        self.connection.tls()
    }

    /// The peer that was tried last, or the group that has none.
    pub(crate) fn last_peer(&self) -> Arc<str> {
        self.attempts.get().last().map(|attempt| attempt.address.clone()).unwrap_or_default()
    }

    /// The value of a text, for this session.
    pub(crate) fn eval(&self, template: &Template) -> Result<Vec<u8>, EvalError> {
        let mut value = Vec::new();
        template.eval(self, &mut self.frame.borrow_mut(), &mut value)?;
        Ok(value)
    }

    /// Writes to the error log of the server, with who the client is.
    pub(crate) fn log(&self, level: Level, message: fmt::Arguments<'_>) {
        let log = &self.server().errors;
        if log.enabled(level) {
            log.write_with(level, Some(self.connection.id), message, format_args!("{}", Ends(self)));
        }
    }
}

/// It is over: with a status, unless the worker ended before.
impl Drop for Session {
    fn drop(&mut self) {
        if let Some(zone) = self.counted.take() {
            let number = self.streams.worker.number;
            zone.end(number, self.status.get(), self.received.get(), self.sent.get());
        }
    }
}

/// The two ends of a connection, as lines of the error log show them.
pub(crate) struct Ends<'a>(pub &'a Session);

impl fmt::Display for Ends<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.client() {
            Some(client) => write!(f, ", client: {client}")?,
            None => f.write_str(", client: unix:")?,
        }
        f.write_str(", server: ")?;
        match self.0.connection.local() {
            Some(local) => write!(f, "{local}"),
            None => f.write_str("unix:"),
        }
    }
}
