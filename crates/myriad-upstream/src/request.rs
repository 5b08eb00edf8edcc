//! Requests to origins.

use myriad_conf::settings::NextUpstream;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use myriad_http::{Method, ResponseHead};

use crate::address::PeerAddress;
use crate::attempts::Attempts;
use crate::error::OriginError;
use crate::memcached_get::MemcachedGet;
use crate::tls::OriginTls;

/// Request to an origin, independent of its protocol.
pub struct OriginRequest {
    /// Protocol with the encoded request head.
    pub protocol: Protocol,
    /// Method: `HEAD` has no response body, and only idempotent requests are retried once they are sent.
    pub method: Method,
    /// Request body.
    pub body: RequestPayload,
    /// Timeouts of each step.
    pub timeouts: Timeouts,
    /// Conditions for trying another peer.
    pub retry: NextUpstream,
    /// Maximum size of the response head in bytes (`fastcgi_buffer_size`, `proxy_buffer_size`).
    pub max_head: usize,
    /// Input of `ip_hash` and `hash`.
    pub affinity: Affinity,
    /// Selected peer (`sticky`), by its `route` or the hash of its address.
    pub sid: Option<Bytes>,
    /// Local address of TCP connections (`*_bind`), port 0 for any. Such a connection is not reused.
    pub bind: Option<SocketAddr>,
    /// TLS with the origin (`proxy_pass https://`, `uwsgi_pass suwsgi://`); not for FastCGI.
    pub tls: Option<Rc<OriginTls>>,
    /// Waits in the queue of a group whose peers are busy; if false, that is an immediate error ([`ErrorKind::Busy`]).
    ///
    /// [`ErrorKind::Busy`]: crate::ErrorKind::Busy
    pub queues: bool,
    /// Observer of stderr, warnings, and failures before another attempt.
    pub observer: Option<Rc<dyn UpstreamObserver>>,
    /// List of attempts, updated while the request is processed and its body is read.
    pub attempts: Attempts,
}

impl OriginRequest {
    /// Returns whether the body is still available after it was sent.
    pub(crate) fn is_repeatable(&self) -> bool {
        !matches!(self.body, RequestPayload::Stream(..))
    }

    /// Returns the TLS identity, which distinguishes connections with different TLS parameters.
    pub(crate) fn identity(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.identity)
    }
}

/// Protocol of the origin with the encoded request head.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// FastCGI in the responder role.
    FastCgi {
        /// Environment, encoded by `crate::fastcgi_protocol::Params`.
        params: Bytes,
        /// Requests a persistent connection (`fastcgi_keep_conn`); only effective with [`crate::KeepAlive`].
        keep_conn: bool,
    },
    /// Protocol with an environment and a body as the request, and a CGI head and a body up to the end of the
    /// connection as the response: SCGI, uwsgi.
    Cgi {
        /// Environment in the framing of the protocol; the length in it must be that of the payload.
        head: Bytes,
    },
    /// `get` of memcached's text protocol.
    Memcached(MemcachedGet),
    /// No request is sent: the result is the connection itself, for another protocol (CONNECT).
    Tunnel,
    /// HTTP/2, with prior knowledge or over TLS, on a connection shared with other requests.
    Http2 {
        /// Request line and all fields in the form of HTTP/1.1, including the empty line; fields that HTTP/2 forbids
        /// are dropped.
        head: Bytes,
        /// True if the scheme is `https`.
        is_secure: bool,
    },
    /// HTTP/1.0 or HTTP/1.1, over TCP or a unix socket.
    Http {
        /// Request line and all fields, including the empty line, exactly as sent. The framing fields must match the
        /// payload: `Content-Length` for a known length, `Transfer-Encoding: chunked` for an unknown length.
        head: Bytes,
        /// True if the head permits a persistent connection (HTTP/1.1 without `Connection: close`).
        keep_alive: bool,
        /// Protocols that the head requests (`Upgrade`), so that 101 for them is a valid response; empty for none.
        upgrade: Bytes,
    },
}

/// Request body.
pub enum RequestPayload {
    /// No body.
    Empty,
    /// Body in memory, which can be sent again to another peer.
    Bytes(Bytes),
    /// Body from another source, for instance a file: created for each attempt, always with this length.
    Again(Rc<dyn Fn() -> BoxBody>, u64),
    /// Body that is read while it is sent, with its length if known; it can only be sent once. Over HTTP, an unknown
    /// length is sent chunked. A body that differs from its length fails the request.
    Stream(BoxBody, Option<u64>),
}

/// Timeouts of each step in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Maximum time to establish a connection (`*_connect_timeout`).
    pub connect_ms: u64,
    /// Maximum time between two successful writes (`*_send_timeout`).
    pub send_ms: u64,
    /// Maximum time between two successful reads, once the request is sent (`*_read_timeout`).
    pub read_ms: u64,
}

/// Input of `ip_hash` and `hash`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// No input: the choice falls back to round robin.
    #[default]
    None,
    /// Client address (`ip_hash`).
    Client(IpAddr),
    /// Value of the key (`hash KEY`).
    Key(Bytes),
}

/// Observer of events between a request and its response, for the error log.
pub trait UpstreamObserver {
    /// Called for output of the application on stderr, in pieces as received instead of lines.
    fn stderr(&self, peer: &PeerAddress, text: &[u8]);

    /// Returns whether `text` on stderr, received before the response head, invalidates the response
    /// (`fastcgi_catch_stderr`).
    fn invalidates(&self, text: &[u8]) -> bool {
        let _ = text;
        false
    }

    /// Called for a non-fatal protocol violation of the origin.
    fn warning(&self, peer: &PeerAddress, text: &str);

    /// Called for an interim response of the origin (102 or 103, RFC 9110 §15.2); the number of calls is limited.
    fn interim(&self, head: &ResponseHead) {
        let _ = head;
    }

    /// Called for a failed attempt before another; [`crate::Group::fetch`] returns the last failure.
    fn retried(&self, error: &OriginError);
}
