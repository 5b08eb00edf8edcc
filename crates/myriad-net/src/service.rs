//! Interface between the connection drivers and the web server (servers, locations, responses).

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

/// Result of driving a connection without HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawEnd {
    /// The connection was closed.
    Closed,
    /// The connection was passed to another listener ([`Connection::pass_to`]).
    Passed,
}

/// Future that drives a connection without HTTP.
pub type RawDriver = Pin<Box<dyn Future<Output = RawEnd>>>;

/// The web server as seen by the drivers: maps request heads to responses and is notified of connection events.
///
/// All methods run on the worker's thread.
pub trait Service: 'static {
    /// State of an exchange that is returned to the service in [`Service::finish`] (for the access log).
    type ExchangeState: 'static;

    /// Returns the limits and timeouts that apply before a request of this connection has been routed to a server.
    fn limits(&self, connection: &Connection) -> PreRoutingLimits;

    /// Called for each connection event, so that the service can count the events.
    fn count_event(&self, event: ConnectionEvent) {
        let _ = event;
    }

    /// Returns true if clients of this connection's listener send a PROXY protocol header.
    fn expects_proxy_header(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// Returns the driver of a connection without HTTP (`stream`); `None` for an HTTP connection. Called for each
    /// listener that the connection is accepted by or passed to.
    fn raw(&self, connection: &Rc<Connection>) -> Option<RawDriver> {
        let _ = connection;
        None
    }

    /// Reports a connection without a valid PROXY protocol header, which is then closed without a response.
    fn proxy_header_failed(&self, connection: &Connection) {
        let _ = connection;
    }

    /// Returns true if the connection's listener uses TLS (`listen … ssl`).
    fn is_secure(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// Returns the TLS settings for a client hello; `None` rejects the handshake: because of `ssl_reject_handshake`, or
    /// because the server has no usable certificate.
    fn tls(&self, connection: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        let _ = (connection, hello);
        None
    }

    /// Returns true if the offers of client hellos (cipher suites, groups, signature schemes) must be stored, because
    /// variables such as `$ssl_ciphers` use them.
    fn stores_offers(&self) -> bool {
        false
    }

    /// Returns the HTTP/2 limits of this connection; `None` if HTTP/2 is disabled (`http2 off`).
    fn http2(&self, connection: &Connection) -> Option<Http2Limits> {
        let _ = connection;
        None
    }

    /// Reports an HTTP/2 client that violated the protocol, timed out, or closed the connection during a request, for
    /// the error log.
    fn http2_failed(&self, connection: &Connection, reason: &str) {
        let _ = (connection, reason);
    }

    /// Reports an HTTP/3 client that violated the protocol or timed out, for the error log. The stream or connection is
    /// closed.
    fn http3_failed(&self, connection: &Connection, reason: &dyn Display) {
        let _ = (connection, reason);
    }

    /// Returns the settings of a new connection to a QUIC listener; `None` rejects it.
    fn quic(&self, connection: &Connection) -> Option<QuicSettings> {
        let _ = connection;
        None
    }

    /// Reports a client that was slower than `client_min_rate` while reading a response, for the error log. The
    /// response is aborted.
    fn client_too_slow(&self, connection: &Connection) {
        let _ = connection;
    }

    /// Reports a panic that closed a connection and aborted its requests, for the error log.
    fn connection_lost(&self, connection: &Connection, panic: &str) {
        let _ = (connection, panic);
    }

    /// Handles a panic that stopped a vital task of the worker. The process must exit, so that its supervisor starts
    /// another.
    fn task_lost(&self, task: &'static str, panic: &str) {
        let _ = (task, panic);
        std::process::abort();
    }

    /// Counts a finished TLS handshake. `failure` is `None` after success; [`Connection::tls`] then returns the
    /// properties of the session.
    fn handshake_over(&self, connection: &Connection, failure: Option<HandshakeFailure>) {
        let _ = (connection, failure);
    }

    /// Reports a failed handshake, for the error log.
    fn tls_failed(&self, connection: &Connection, why: &dyn Display) {
        let _ = (connection, why);
    }

    /// Starts an exchange. If the response is not immediate, the service may take `head` with `mem::take`.
    fn begin(
        &self,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
        body: RequestBody,
    ) -> ServiceOutcome<Self::ExchangeState>;

    /// Returns the response to a request that could not be read. On HTTP/1 the connection closes after it.
    fn reject(
        &self,
        error: Rejection,
        head: &mut RequestHead,
        connection: &Rc<Connection>,
    ) -> ServiceOutcome<Self::ExchangeState>;

    /// Returns a future that completes when the log lines of finished exchanges are written, or after a time limit;
    /// `None` if no line is pending. The HTTP/1 and HTTP/2 drivers wait for it before they close a connection.
    fn logged(&self) -> Option<PostResponseWork> {
        None
    }

    /// Finishes an exchange whose response was sent or aborted. Returns work that continues after the response, such as
    /// a cache refresh, if any. An HTTP/1 connection that closes after this response first waits a short time for this
    /// work, so that the work is done when the client reconnects.
    fn finish(
        &self,
        head: &RequestHead,
        connection: &Rc<Connection>,
        ticket: Self::ExchangeState,
        sent: &SentReport,
    ) -> Option<PostResponseWork>;
}

/// Future that completes when work after a response (log lines, cache refresh) is done. Dropping it does not cancel the
/// work.
pub type PostResponseWork = Pin<Box<dyn Future<Output = ()>>>;

/// Event of a client connection, passed to [`Service::count_event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The connection was accepted.
    Accepted,
    /// The connection was closed.
    Closed,
    /// A part of an HTTP/1 request head has arrived, but not the whole head. Not reported for heads that arrive at
    /// once.
    HeadBegan,
    /// A request head reported by [`Self::HeadBegan`] is complete or was abandoned.
    HeadEnded,
}

/// Reason for a failed TLS handshake, as counted in statistics.
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
    /// Any other reason, including malformed handshake messages and aborts by the client.
    Other,
}

/// Reason why a request head could not be read.
#[derive(Debug)]
pub enum Rejection {
    /// The head is not valid HTTP, or exceeds a limit such as `large_client_header_buffers`.
    Malformed(ParseError),
    /// The head did not arrive within `client_header_timeout`, or arrived more slowly than `client_min_rate`.
    TimedOut,
}

/// Response of a service to a request: immediate, or a future.
pub enum ServiceOutcome<T> {
    /// Response that is available immediately.
    Ready(Response<T>),
    /// Future that returns the response.
    Later(Pin<Box<dyn Future<Output = Response<T>>>>),
}

/// Limits of a connection before a request has been routed to a server.
#[derive(Clone, Copy, Debug)]
pub struct PreRoutingLimits {
    /// Size limits of HTTP/1 request heads.
    pub head: HeadLimits,
    /// Limits of HTTP/2 and HTTP/3 header blocks, which have no lines: a name or value may fill one buffer of
    /// `large_client_header_buffers`, regardless of `client_header_buffer_size`.
    pub block: HeadLimits,
    /// `client_header_timeout` in milliseconds; 0 for no limit.
    pub header_timeout_ms: u64,
    /// Timeouts that apply until a request has been routed.
    pub timeouts: Timeouts,
}

/// HTTP/2 limits of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Http2Limits {
    /// `http2_max_concurrent_streams`: maximum number of concurrent requests on a connection; at least 1.
    pub streams: u32,
    /// `http2_body_preread_size`: maximum number of bytes of each request body that a client may send before the
    /// service reads the body; at most 2³¹-1.
    pub preread: u32,
    /// `http2_recv_buffer_size`: size of the read buffer of each worker, in bytes; raised to two maximum frames if
    /// smaller.
    pub receive_buffer: usize,
    /// `keepalive_time`: age in milliseconds after which a connection accepts no further requests.
    pub keepalive_time_ms: u64,
}

impl Default for Http2Limits {
    /// Returns nginx's default HTTP/2 limits.
    fn default() -> Self {
        Self { streams: 128, preread: 65_536, receive_buffer: 256 * 1024, keepalive_time_ms: 3_600_000 }
    }
}
