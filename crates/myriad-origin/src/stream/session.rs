//! Session of `stream`, with the data that its variables and logs read.

use std::cell::{Cell, OnceCell, RefCell};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::runtime::ServerId;
use myriad_exchange::traffic::{TlsEnd, TrafficZone};
use myriad_http::proxy_protocol::ProxyHeader;
use myriad_log::LogLevel;
use myriad_net::{ClientAddress, Connection, TlsFacts};
use myriad_script::{EvalError, Frame, Template};
use myriad_upstream::Attempts;

use crate::stream::limits::LimitStatus;
use crate::stream::preread::PrereadHello;
use crate::stream::runtime::{StreamServer, WorkerStreams};

/// Session of `stream`: a TCP connection, or the UDP datagrams of one client.
pub(crate) struct StreamSession {
    pub streams: Rc<WorkerStreams>,
    /// Server that handles the session: the default server of the address, until the client requests another server
    /// name by TLS.
    pub server: Cell<ServerId>,
    /// TCP connection, or the connection object that represents a UDP client.
    pub connection: Rc<Connection>,
    /// True for UDP, false for TCP.
    pub is_datagram: bool,
    /// Client address from the PROXY protocol header of a trusted proxy; `None` without one.
    pub real: Cell<Option<SocketAddr>>,
    /// Start of the session, in milliseconds of the process clock.
    pub began_ms: u64,
    /// Number of bytes received from the client.
    pub received: Cell<u64>,
    /// Number of bytes sent to the client.
    pub sent: Cell<u64>,
    /// Status of the finished session (`$status`); 0 while it is active.
    pub status: Cell<u16>,
    /// TLS client hello read by `ssl_preread`; unset if it was not read or the client sent none.
    pub hello: OnceCell<PrereadHello>,
    /// Decision of `limit_conn`; `None` before it, and if no zone applies to the session.
    pub limited: Cell<Option<LimitStatus>>,
    pub attempts: Attempts,
    /// Traffic zone that counts the active session; `None` before the start is counted, and without `status_zone`.
    pub counted: Cell<Option<Arc<TrafficZone>>>,
    pub frame: RefCell<Frame>,
}

impl StreamSession {
    pub(crate) fn new(
        streams: Rc<WorkerStreams>,
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

    pub(crate) fn server(&self) -> &StreamServer {
        self.streams.runtime.server(self.server.get())
    }

    /// Counts the start of the session in the traffic zone of its server; no effect without `status_zone`.
    pub(crate) fn count_start(&self) {
        let Some(zone) = &self.server().traffic else { return };
        zone.begin(self.streams.worker.number);
        self.counted.set(Some(Arc::clone(zone)));
    }

    /// Counts a TLS handshake in total and, with `status_zone`, for the traffic zone of the server.
    pub(crate) fn count_handshake(&self, end: TlsEnd) {
        let worker = &self.streams.worker;
        worker.counters.served.count_handshake(end);
        if let Some(zone) = &self.server().traffic {
            zone.count_handshake(worker.number, end);
        }
    }

    /// Returns the client's IP address: the address reported by a trusted proxy, otherwise the peer address of the
    /// connection. `None` for a unix socket without a reported address.
    pub(crate) fn client(&self) -> Option<IpAddr> {
        self.real.get().map_or_else(|| self.connection.peer.ip(), |real| Some(real.ip()))
    }

    /// Returns the client's address and port: those reported by a trusted proxy, otherwise those of the connection.
    /// `None` for a unix socket without a reported address.
    pub(crate) fn client_socket(&self) -> Option<SocketAddr> {
        self.real.get().or(match self.connection.peer {
            ClientAddress::Inet(peer) => Some(peer),
            ClientAddress::Unix => None,
        })
    }

    /// Returns the PROXY protocol header that the connection began with; `None` if there is none.
    pub(crate) fn proxied(&self) -> Option<&ProxyHeader> {
        self.connection.proxied.get().map(|header| &**header)
    }

    /// Returns the properties of the client's TLS session; `None` without TLS.
    pub(crate) fn tls(&self) -> Option<&TlsFacts> {
        self.connection.tls()
    }

    /// Returns the address of the last peer that was tried; empty if there is none.
    pub(crate) fn last_peer(&self) -> Arc<str> {
        self.attempts.get().last().map(|attempt| attempt.address.clone()).unwrap_or_default()
    }

    /// Evaluates a template with the variables of this session. Fails if a variable cannot be evaluated.
    pub(crate) fn eval(&self, template: &Template) -> Result<Vec<u8>, EvalError> {
        let mut value = Vec::new();
        template.eval(self, &mut self.frame.borrow_mut(), &mut value)?;
        Ok(value)
    }

    /// Writes a message with the addresses of the session to the error log of the server, if the log includes `level`.
    pub(crate) fn log(&self, level: LogLevel, message: fmt::Arguments<'_>) {
        let log = &self.server().errors;
        if log.enabled(level) {
            log.write_with(
                level,
                Some(self.connection.id),
                message,
                format_args!("{}", SessionAddresses(self)),
            );
        }
    }
}

/// Counts the end of the session with its status, which is 0 if the worker dropped the session early.
impl Drop for StreamSession {
    fn drop(&mut self) {
        if let Some(zone) = self.counted.take() {
            let number = self.streams.worker.number;
            zone.end(number, self.status.get(), self.received.get(), self.sent.get());
        }
    }
}

/// Formats the addresses of client and server for the error log.
pub(crate) struct SessionAddresses<'a>(pub &'a StreamSession);

impl fmt::Display for SessionAddresses<'_> {
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
