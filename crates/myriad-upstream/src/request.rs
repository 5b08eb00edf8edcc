//! What is asked of an origin.

use myriad_conf::settings::NextUpstream;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use myriad_http::{Method, ResponseHead};

use crate::address::Address;
use crate::attempts::Attempts;
use crate::error::OriginError;
use crate::memcached_get::MemcachedGet;
use crate::tls::OriginTls;

/// One request for an origin, whichever protocol it speaks.
pub struct OriginRequest {
    /// The protocol and the request head in it.
    pub protocol: Protocol,
    /// The method: `HEAD` has no response body, and only idempotent ones are tried again once sent.
    pub method: Method,
    /// The request body.
    pub body: RequestPayload,
    /// How long each step may take.
    pub timeouts: Timeouts,
    /// When to try another peer.
    pub retry: NextUpstream,
    /// Most bytes of response head (`fastcgi_buffer_size`, `proxy_buffer_size`).
    pub max_head: usize,
    /// What `ip_hash` and `hash` choose by.
    pub affinity: Affinity,
    /// The peer that is asked for (`sticky`), by its `route` or the hash of its address.
    pub sid: Option<Bytes>,
    /// The address that a TCP connection is made from (`*_bind`), port 0 for any. Such a connection serves once.
    pub bind: Option<SocketAddr>,
    /// TLS with the origin (`proxy_pass https://`, `uwsgi_pass suwsgi://`); not over FastCGI.
    pub tls: Option<Rc<OriginTls>>,
    /// Whether to wait in the queue of a group whose peers are busy; else that is an error at once ([`ErrorKind::Busy`]).
    ///
    /// [`ErrorKind::Busy`]: crate::ErrorKind::Busy
    pub queues: bool,
    /// Told of stderr, warnings and failures that another try followed.
    pub observer: Option<Rc<dyn Observer>>,
    /// Filled while the request runs and its body is read.
    pub attempts: Attempts,
}

impl OriginRequest {
    /// Whether the body is still there after it was sent.
    pub(crate) fn is_repeatable(&self) -> bool {
        !matches!(self.body, RequestPayload::Stream(..))
    }

    /// What tells connections apart that are secured in different ways.
    pub(crate) fn identity(&self) -> u64 {
        self.tls.as_ref().map_or(0, |tls| tls.identity)
    }
}

/// The protocol of the origin and the request head in it.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// FastCGI in the responder role.
    FastCgi {
        /// The environment, encoded by `myriad_fastcgi::Params`.
        params: Bytes,
        /// Ask for a connection that stays open (`fastcgi_keep_conn`); used with [`crate::KeepAlive`] only.
        keep_conn: bool,
    },
    /// A protocol whose request is an environment and a body, and whose answer is a CGI head and what follows it up to the
    /// end of the connection: SCGI, uwsgi.
    Cgi {
        /// The environment as the protocol frames it; the length that it tells must be the payload's.
        head: Bytes,
    },
    /// A `get` of memcached's text protocol.
    Memcached(MemcachedGet),
    /// Nothing is said: the connection itself is the answer, for whoever speaks over it (CONNECT).
    Tunnel,
    /// HTTP/2, with prior knowledge or by TLS, over a connection that other requests share.
    Http2 {
        /// The request line and all fields as HTTP/1.1 has them, empty line included; what HTTP/2 has not is left out.
        head: Bytes,
        /// The scheme is `https`.
        is_secure: bool,
    },
    /// HTTP/1.0 or HTTP/1.1, over TCP or a unix socket.
    Http {
        /// The request line and all fields, empty line included, exactly as sent. Framing fields must agree with
        /// the payload: `Content-Length` for a known length, `Transfer-Encoding: chunked` for an unknown one.
        head: Bytes,
        /// The head lets the connection stay open (HTTP/1.1 without `Connection: close`).
        keep_alive: bool,
        /// The protocols that the head asks for (`Upgrade`), so that 101 for one of them is an answer; empty for none.
        upgrade: Bytes,
    },
}

/// The request body.
pub enum RequestPayload {
    /// None.
    Empty,
    /// In memory: it can be sent again to another peer.
    Bytes(Bytes),
    /// Kept elsewhere, in a file for instance: made anew for each peer that is tried, always of this length.
    Again(Rc<dyn Fn() -> BoxBody>, u64),
    /// Pulled while it is sent, with its length where known; it can be sent once. Over HTTP an unknown length is
    /// sent chunked. A body that is shorter or longer than its length fails the request.
    Stream(BoxBody, Option<u64>),
}

/// How long each step may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To make a connection (`*_connect_timeout`).
    pub connect_ms: u64,
    /// Between two writes that make progress (`*_send_timeout`).
    pub send_ms: u64,
    /// Between two reads that make progress, once the request is sent (`*_read_timeout`).
    pub read_ms: u64,
}

/// What `ip_hash` and `hash` choose a peer by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Nothing: the choice falls back to round robin.
    #[default]
    None,
    /// The client's address (`ip_hash`).
    Client(IpAddr),
    /// The value of the key (`hash KEY`).
    Key(Bytes),
}

/// Is told what happens between the request and its response, for the error log.
pub trait Observer {
    /// The application wrote `text` to stderr: pieces as they come, not lines.
    fn stderr(&self, peer: &Address, text: &[u8]);

    /// Whether `text` on stderr, ahead of the response head, spoils the response (`fastcgi_catch_stderr`).
    fn spoils(&self, text: &[u8]) -> bool {
        let _ = text;
        false
    }

    /// The origin did something odd that the response survives.
    fn warning(&self, peer: &Address, text: &str);

    /// The origin sent an interim response ahead of its own (102 or 103, RFC 9110 §15.2); there are a few at most.
    fn interim(&self, head: &ResponseHead) {
        let _ = head;
    }

    /// A try failed and another follows; the last failure is what [`crate::Group::fetch`] returns.
    fn retried(&self, error: &OriginError);
}
