//! What a driver asks of the site behind it.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use myriad_http::h1::HeadLimits;
use myriad_http::{ParseError, RequestHead};

use rustls::ServerConfig;
use rustls::server::ClientHello;

use crate::connection::Connection;
use crate::h3::QuicSettings;
use crate::request_body::RequestBody;
use crate::response::{Response, Sent};
use crate::timeouts::Timeouts;

/// How the driver of a connection whose bytes are not HTTP ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawEnd {
    /// The connection is over.
    Closed,
    /// The connection was passed to another listener ([`Connection::pass_to`]).
    Passed,
}

/// Drives a connection whose bytes are not HTTP.
pub type RawDriver = Pin<Box<dyn Future<Output = RawEnd>>>;

/// A site: turns request heads into responses.
///
/// All methods run on the worker's thread.
pub trait Service: 'static {
    /// What the service keeps of an exchange until it is over (for the access log).
    type Ticket: 'static;

    /// How a head on this connection may look and how long it may take, before its server is known.
    fn limits(&self, connection: &Connection) -> Limits;

    /// Something has happened to a connection; for counting.
    fn note(&self, event: ConnectionEvent) {
        let _ = event;
    }

    /// Whether clients of this listener are announced by the PROXY protocol; asked once for a connection.
    fn expects_proxy_header(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// Returns the driver of a connection whose bytes are not HTTP (`stream`); `None` for a connection of HTTP. Called once for each
    /// listener that serves the connection.
    fn raw(&self, connection: &Rc<Connection>) -> Option<RawDriver> {
        let _ = connection;
        None
    }

    /// A connection did not begin with a PROXY protocol header; it is closed without an answer.
    fn proxy_header_failed(&self, connection: &Connection) {
        let _ = connection;
    }

    /// Whether the clients of this listener speak TLS (`listen … ssl`).
    fn is_secure(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// How the server speaks TLS that a client asks for; none refuses it (`ssl_reject_handshake`).
    fn tls(&self, connection: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let _ = (connection, hello);
        None
    }

    /// Whether what a hello offered is kept, for variables.
    fn keeps_offers(&self) -> bool {
        false
    }

    /// Whether HTTP/2 is spoken on this connection, and how much a client may ask at once (`http2`, `listen … http2`).
    fn http2(&self, connection: &Connection) -> Option<StreamLimits> {
        let _ = connection;
        None
    }

    /// A client of HTTP/2 went too far, or away in the middle of something; for the error log.
    fn http2_failed(&self, connection: &Connection, reason: &str) {
        let _ = (connection, reason);
    }

    /// A client of HTTP/3 broke a rule or went too far, and its connection ends; for the error log.
    fn http3_failed(&self, connection: &Connection, reason: &dyn Display) {
        let _ = (connection, reason);
    }

    /// How a client of a listener for QUIC is spoken to that comes now; none sends it away.
    fn quic(&self, connection: &Connection) -> Option<QuicSettings> {
        let _ = connection;
        None
    }

    /// A client took less of an answer than `client_min_rate`, and its connection was reset; for the error log.
    fn client_too_slow(&self, connection: &Connection) {
        let _ = connection;
    }

    /// A panic broke a connection off, whose requests under way are lost; for the error log.
    fn connection_lost(&self, connection: &Connection, panic: &str) {
        let _ = (connection, panic);
    }

    /// A panic ended a task that the worker cannot do without: the process is to end, so that another takes its place.
    fn task_lost(&self, task: &'static str, panic: &str) {
        let _ = (task, panic);
        std::process::abort();
    }

    /// A handshake is over, for counting; what came of one that succeeded is known of the connection.
    fn handshake_over(&self, connection: &Connection, failure: Option<HandshakeFailure>) {
        let _ = (connection, failure);
    }

    /// A handshake failed, for the error log.
    fn tls_failed(&self, connection: &Connection, why: &dyn Display) {
        let _ = (connection, why);
    }

    /// Begins an exchange. `head` may be taken with `mem::take` by an answer that comes later.
    fn begin(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> Outcome<Self::Ticket>;

    /// Answers a request that could not be read. The driver closes the connection after the answer.
    fn reject(
        &self,
        error: Rejection,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
    ) -> Outcome<Self::Ticket>;

    /// Returns a future that is ready when the log lines of exchanges that are over are written; `None` if no line waits. A
    /// connection is closed by the server only after that, or a moment later.
    fn logged(&self) -> Option<Behind> {
        None
    }

    /// The exchange is over: sent, or broken off. What it gives goes on behind the answer; a connection of HTTP/1 that ends
    /// with the answer is closed a moment later for it, so that a client which comes again at once finds it done.
    fn finish(
        &self,
        head: &RequestHead,
        connection: &Rc<Connection>,
        ticket: Self::Ticket,
        sent: &Sent,
    ) -> Option<Behind>;
}

/// What goes on behind an answer that has been sent. Dropping it ends the wait for it alone.
pub type Behind = Pin<Box<dyn Future<Output = ()>>>;

/// What happens to a connection between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// It was accepted.
    Accepted,
    /// It is over.
    Closed,
    /// A part of a head has arrived, and the rest is waited for.
    HeadBegan,
    /// That head is read, or will never be.
    HeadEnded,
}

/// Why a handshake of TLS failed, as far as it is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// The two speak no version of TLS in common.
    NoCommonProtocol,
    /// They know no cipher suite in common.
    NoCommonCipher,
    /// The client took too long.
    TimedOut,
    /// The client did not believe the certificate, and said so.
    CertificateRejected,
    /// Anything else.
    Other,
}

/// Why a request could not be read.
#[derive(Debug)]
pub enum Rejection {
    /// The head breaks the rules of RFC 9112.
    Malformed(ParseError),
    /// The head did not arrive within `client_header_timeout`.
    TimedOut,
}

/// An answer now, or a future that gives it.
pub enum Outcome<T> {
    /// The whole answer is known: one `writev`, no future.
    Ready(Response<T>),
    /// Something has to be waited for.
    Later(Pin<Box<dyn Future<Output = Response<T>>>>),
}

/// Limits of a connection before its request has been routed.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Limits of the request head.
    pub head: HeadLimits,
    /// The limits in HTTP/2 and HTTP/3, which have no lines: a name or a value is at most one of `large_client_header_buffers`,
    /// whatever `client_header_buffer_size`.
    pub block: HeadLimits,
    /// `client_header_timeout`, milliseconds; 0 for none.
    pub header_timeout_ms: u64,
    /// Time-outs that hold until a request has been routed.
    pub timeouts: Timeouts,
}

/// What a client of HTTP/2 may ask for at once.
#[derive(Clone, Copy, Debug)]
pub struct StreamLimits {
    /// `http2_max_concurrent_streams`: requests under way on one connection, at least 1.
    pub streams: u32,
    /// `http2_body_preread_size`: bytes of a body that are taken before anybody reads it, at most 2³¹-1.
    pub preread: u32,
    /// `http2_recv_buffer_size`: bytes that are read at once; one buffer a worker.
    pub receive_buffer: usize,
    /// `keepalive_time`, milliseconds.
    pub keepalive_time_ms: u64,
}

impl Default for StreamLimits {
    /// nginx's defaults.
    fn default() -> Self {
        Self { streams: 128, preread: 65_536, receive_buffer: 256 * 1024, keepalive_time_ms: 3_600_000 }
    }
}
