//! Requests to origins: input of [`crate::Group::fetch`].

use myriad_conf::settings::NextUpstream;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use myriad_http::{Method, ResponseHead};

use crate::address::PeerAddress;
use crate::attempts::Attempts;
use crate::error::{OriginError, Phase};
use crate::memcached_get::MemcachedGet;
use crate::tls::OriginTls;

/// Request to an origin over any of the supported protocols.
pub struct OriginRequest {
    /// Protocol, with the encoded request head.
    pub protocol: Protocol,
    /// Request method. A response to `HEAD` has no body; a request whose method is not idempotent is only repeated if
    /// no peer can have processed it, or if [`Self::retry`] permits it (`non_idempotent`).
    pub method: Method,
    /// Body of the request.
    pub body: RequestPayload,
    /// Timeouts of connecting, sending and reading.
    pub timeouts: Timeouts,
    /// Conditions for trying another peer (`*_next_upstream`).
    pub retry: NextUpstream,
    /// Maximum size of the response head in bytes (`fastcgi_buffer_size`, `proxy_buffer_size`).
    pub max_head: usize,
    /// Client address or key by which `ip_hash` and `hash` select the peer.
    pub affinity: Affinity,
    /// Identifier of the peer that the request selects (`sticky`): its `route` or the hash of its address; `None` for
    /// any.
    pub sid: Option<Bytes>,
    /// Local address of TCP connections (`*_bind`), with port 0 for any port; `None` for any address. Connections from
    /// a given address are not reused.
    pub bind: Option<SocketAddr>,
    /// TLS parameters for the origin (`proxy_pass https://`, `grpc_pass grpcs://`, `uwsgi_pass suwsgi://`); `None`
    /// without TLS.
    pub tls: Option<Rc<OriginTls>>,
    /// If true, the request waits in the queue of a group whose peers are all busy (without `queue`, it fails);
    /// otherwise it fails with [`ErrorKind::Busy`].
    ///
    /// [`ErrorKind::Busy`]: crate::ErrorKind::Busy
    pub queues: bool,
    /// Observer of stderr, warnings, interim responses, and failures before another attempt; `None` ignores these
    /// events.
    pub observer: Option<Rc<dyn UpstreamObserver>>,
    /// List of the attempts of this request, updated until the response body is complete.
    pub attempts: Attempts,
}

impl OriginRequest {
    /// Returns the encoded request head: the environment for FastCGI, SCGI and uwsgi, and the form of HTTP/1 for HTTP,
    /// also for HTTP/2; empty for memcached and tunnels.
    pub fn head(&self) -> &[u8] {
        match &self.protocol {
            Protocol::FastCgi { params, .. } => params,
            Protocol::Cgi { head } | Protocol::Http2 { head, .. } | Protocol::Http { head, .. } => head,
            Protocol::Memcached(_) | Protocol::Tunnel => &[],
        }
    }

    /// Returns whether the request body can be sent again to another peer.
    pub(crate) fn is_repeatable(&self) -> bool {
        !matches!(self.body, RequestPayload::Stream(..))
    }

    /// Returns the identity of the TLS parameters, 0 without TLS. Only requests of the same identity share connections.
    pub(crate) fn identity(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.identity)
    }
}

/// Protocol of the origin, with the encoded request head.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// FastCGI in the responder role.
    FastCgi {
        /// Environment, encoded by `crate::fastcgi_protocol::Params`.
        params: Bytes,
        /// True if the application is requested to leave the connection open (`fastcgi_keep_conn`); the connection is
        /// only reused if [`crate::KeepAlive::connections`] is not 0.
        keep_conn: bool,
    },
    /// Protocol whose request is an environment and a body, and whose response is a CGI or HTTP head and a body up to
    /// `Content-Length` or the end of the connection: SCGI, uwsgi.
    Cgi {
        /// Environment in the framing of the protocol; a content length in the environment must be the length of the
        /// body.
        head: Bytes,
    },
    /// `get` command of memcached's text protocol.
    Memcached(MemcachedGet),
    /// No request is sent: the result is the connection, for another protocol (`CONNECT`).
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
        /// body: `Content-Length` for a known length, `Transfer-Encoding: chunked` for an unknown length.
        head: Bytes,
        /// True if the head permits a persistent connection.
        keep_alive: bool,
        /// Protocols in the `Upgrade` field of the head, for which a 101 response is valid; empty for none.
        upgrade: Bytes,
    },
}

/// Body of a request to an origin.
pub enum RequestPayload {
    /// The request has no body.
    Empty,
    /// Body in memory, which can be sent again to another peer.
    Bytes(Bytes),
    /// Body that can be sent again, for instance from a file: the function creates it for each attempt. The length in
    /// bytes is the same each time.
    Again(Rc<dyn Fn() -> BoxBody>, u64),
    /// Body that is read while it is sent and can only be sent once, with its length in bytes; `None` if the length is
    /// unknown. An unknown length requires HTTP. The request fails if the body has another length.
    Stream(BoxBody, Option<u64>),
}

/// Timeouts of the steps of a request to an origin, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Maximum time of each step to a usable connection: wait for a connection slot of the worker, connecting, TLS
    /// handshake (`*_connect_timeout`).
    pub connect_ms: u64,
    /// Maximum time between two successful writes (`*_send_timeout`).
    pub send_ms: u64,
    /// Maximum time between two successful reads, once the request is sent (`*_read_timeout`).
    pub read_ms: u64,
}

/// Input of the balancing algorithms `ip_hash` and `hash`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// No client address or key: round robin is used instead.
    #[default]
    None,
    /// Client address (`ip_hash`).
    Client(IpAddr),
    /// Value of the hash key (`hash KEY`).
    Key(Bytes),
}

/// Observer of events during a request to an origin, mainly for the error log.
pub trait UpstreamObserver {
    /// Called for output of the application on stderr, with the phase in which it arrived; a piece may contain
    /// partial lines.
    fn stderr(&self, peer: &PeerAddress, text: &[u8], phase: Phase);

    /// Returns whether `text` on stderr invalidates the response (`fastcgi_catch_stderr`): before the response head,
    /// the attempt fails; later, it is recorded as a fatal error.
    fn invalidates(&self, text: &[u8]) -> bool {
        let _ = text;
        false
    }

    /// Called for a protocol violation of the origin after which the response is still used.
    fn warning(&self, peer: &PeerAddress, text: &str);

    /// Called for each interim response of the origin (RFC 9110 §15.2) except 100 and 101, at most 32 per attempt.
    fn interim(&self, head: &ResponseHead) {
        let _ = head;
    }

    /// Called for a failed attempt that is followed by another attempt, or by "no live upstreams" as the final error.
    fn retried(&self, error: &OriginError);
}
