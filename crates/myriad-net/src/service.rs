//! Interface between the connection drivers and the site.

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
use crate::response::{Response, SentReport};
use crate::timeouts::Timeouts;

/// Result of the driver of a connection that does not use HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawEnd {
    /// The connection is closed.
    Closed,
    /// The connection was passed to another listener ([`Connection::pass_to`]).
    Passed,
}

/// Driver of a connection that does not use HTTP.
pub type RawDriver = Pin<Box<dyn Future<Output = RawEnd>>>;

/// Site: maps request heads to responses.
///
/// All methods run on the worker's thread.
pub trait Service: 'static {
    /// State of an exchange that the service retains until it is finished (for the access log).
    type ExchangeState: 'static;

    /// Returns the limits and time-outs of request heads on this connection, before its server is known.
    fn limits(&self, connection: &Connection) -> PreRoutingLimits;

    /// Records a connection event, for counting.
    fn count_event(&self, event: ConnectionEvent) {
        let _ = event;
    }

    /// Returns whether clients of this listener send a PROXY protocol header. Called once per connection.
    fn expects_proxy_header(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// Returns the driver of a connection that does not use HTTP (`stream`); `None` for an HTTP connection. Called once
    /// for each listener that serves the connection.
    fn raw(&self, connection: &Rc<Connection>) -> Option<RawDriver> {
        let _ = connection;
        None
    }

    /// Reports a connection without a valid PROXY protocol header; it is closed without a response.
    fn proxy_header_failed(&self, connection: &Connection) {
        let _ = connection;
    }

    /// Returns whether the listener uses TLS (`listen … ssl`).
    fn is_secure(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// Returns the TLS settings for a client hello; `None` rejects the handshake (`ssl_reject_handshake`).
    fn tls(&self, connection: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let _ = (connection, hello);
        None
    }

    /// Returns whether the offers of a client hello are stored, for variables.
    fn stores_offers(&self) -> bool {
        false
    }

    /// Returns the HTTP/2 limits of this connection; `None` if HTTP/2 is disabled (`http2`, `listen … http2`).
    fn http2(&self, connection: &Connection) -> Option<Http2Limits> {
        let _ = connection;
        None
    }

    /// Reports an HTTP/2 client that exceeded a limit or closed the connection during a request; for the error log.
    fn http2_failed(&self, connection: &Connection, reason: &str) {
        let _ = (connection, reason);
    }

    /// Reports an HTTP/3 client that violated the protocol or exceeded a limit, so that its connection closes; for the
    /// error log.
    fn http3_failed(&self, connection: &Connection, reason: &dyn Display) {
        let _ = (connection, reason);
    }

    /// Returns the settings for a new client of a QUIC listener; `None` rejects it.
    fn quic(&self, connection: &Connection) -> Option<QuicSettings> {
        let _ = connection;
        None
    }

    /// Reports a client that read a response slower than `client_min_rate` and whose connection was reset; for the
    /// error log.
    fn client_too_slow(&self, connection: &Connection) {
        let _ = connection;
    }

    /// Reports a panic that closed a connection and lost its requests in progress; for the error log.
    fn connection_lost(&self, connection: &Connection, panic: &str) {
        let _ = (connection, panic);
    }

    /// Handles a panic that terminated a vital task of the worker: the process must exit so that another replaces it.
    fn task_lost(&self, task: &'static str, panic: &str) {
        let _ = (task, panic);
        std::process::abort();
    }

    /// Reports a completed handshake, for counting; the connection contains the parameters of a successful handshake.
    fn handshake_over(&self, connection: &Connection, failure: Option<HandshakeFailure>) {
        let _ = (connection, failure);
    }

    /// Reports a failed handshake, for the error log.
    fn tls_failed(&self, connection: &Connection, why: &dyn Display) {
        let _ = (connection, why);
    }

    /// Starts an exchange. A later response may take `head` with `mem::take`.
    fn begin(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> ServiceOutcome<Self::ExchangeState>;

    /// Returns the response to a request that could not be read. The driver closes the connection after it.
    fn reject(
        &self,
        error: Rejection,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
    ) -> ServiceOutcome<Self::ExchangeState>;

    /// Returns a future that is ready when the log lines of finished exchanges are written; `None` if no line is
    /// pending. The server closes a connection only after that, or after the time limit of the future.
    fn logged(&self) -> Option<PostResponseWork> {
        None
    }

    /// Finishes an exchange: the response was sent or aborted. The returned future runs after the response. An HTTP/1
    /// connection that closes after the response waits a short time for it, so that a client that reconnects at once
    /// finds it completed.
    fn finish(
        &self,
        head: &RequestHead,
        connection: &Rc<Connection>,
        ticket: Self::ExchangeState,
        sent: &SentReport,
    ) -> Option<PostResponseWork>;
}

/// Work that continues after a response has been sent. Dropping it cancels only the wait for it.
pub type PostResponseWork = Pin<Box<dyn Future<Output = ()>>>;

/// Event of a connection between requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The connection was accepted.
    Accepted,
    /// The connection was closed.
    Closed,
    /// A part of a head has arrived.
    HeadBegan,
    /// That head was read or abandoned.
    HeadEnded,
}

/// Reason of a failed TLS handshake, as far as it is counted separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeFailure {
    /// Client and server have no TLS version in common.
    NoCommonProtocol,
    /// Client and server have no cipher suite in common.
    NoCommonCipher,
    /// The handshake timed out.
    TimedOut,
    /// The client rejected the certificate with an alert.
    CertificateRejected,
    /// Anything else.
    Other,
}

/// Reason why a request could not be read.
#[derive(Debug)]
pub enum Rejection {
    /// The head violates RFC 9112.
    Malformed(ParseError),
    /// The head did not arrive within `client_header_timeout`.
    TimedOut,
}

/// Immediate response, or a future that returns it.
pub enum ServiceOutcome<T> {
    /// The complete response: one `writev`, no future.
    Ready(Response<T>),
    /// The response requires waiting.
    Later(Pin<Box<dyn Future<Output = Response<T>>>>),
}

/// Limits of a connection before its request has been routed.
#[derive(Clone, Copy, Debug)]
pub struct PreRoutingLimits {
    /// Limits of the request head.
    pub head: HeadLimits,
    /// Limits in HTTP/2 and HTTP/3, which have no lines: the maximum size of a name or a value is one buffer of
    /// `large_client_header_buffers`, regardless of `client_header_buffer_size`.
    pub block: HeadLimits,
    /// `client_header_timeout`, milliseconds; 0 for none.
    pub header_timeout_ms: u64,
    /// Time-outs that apply until a request has been routed.
    pub timeouts: Timeouts,
}

/// Limits of an HTTP/2 client.
#[derive(Clone, Copy, Debug)]
pub struct Http2Limits {
    /// `http2_max_concurrent_streams`: concurrent requests on one connection, at least 1.
    pub streams: u32,
    /// `http2_body_preread_size`: bytes of a body accepted before it is read, at most 2³¹-1.
    pub preread: u32,
    /// `http2_recv_buffer_size`: maximum size of one read, in bytes; one buffer per worker.
    pub receive_buffer: usize,
    /// `keepalive_time`, milliseconds.
    pub keepalive_time_ms: u64,
}

impl Default for Http2Limits {
    /// Returns nginx's defaults.
    fn default() -> Self {
        Self { streams: 128, preread: 65_536, receive_buffer: 256 * 1024, keepalive_time_ms: 3_600_000 }
    }
}
