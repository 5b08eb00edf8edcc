//! What is asked of an origin.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use bytes::Bytes;
use myriad_http::body::BoxBody;
use myriad_http::{Method, ResponseHead};

use crate::address::Address;
use crate::attempts::Attempts;
use crate::error::OriginError;
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
    /// The address that a TCP connection is made from (`*_bind`), port 0 for any. Such a connection serves once.
    pub bind: Option<SocketAddr>,
    /// TLS with the origin, over HTTP only (`proxy_pass https://`).
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

impl Default for Timeouts {
    /// nginx's 60 seconds each.
    fn default() -> Self {
        Self { connect_ms: 60_000, send_ms: 60_000, read_ms: 60_000 }
    }
}

/// When another peer is tried (`*_next_upstream`, `_tries`, `_timeout`).
///
/// Connecting is always safe to repeat; a request that was sent is repeated where its method is idempotent, or
/// `non_idempotent` is set, and its body is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextUpstream {
    /// No connection, or one that failed (`error`).
    pub error: bool,
    /// A step took too long (`timeout`).
    pub timeout: bool,
    /// The response head was broken, empty or too large (`invalid_header`).
    pub invalid_header: bool,
    /// The status is 500 (`http_500`).
    pub http_500: bool,
    /// The status is 502 (`http_502`).
    pub http_502: bool,
    /// The status is 503 (`http_503`).
    pub http_503: bool,
    /// The status is 504 (`http_504`).
    pub http_504: bool,
    /// The status is 403 (`http_403`); no failure of the peer.
    pub http_403: bool,
    /// The status is 404 (`http_404`); no failure of the peer.
    pub http_404: bool,
    /// The status is 429 (`http_429`).
    pub http_429: bool,
    /// Repeat `POST`, `LOCK`, `PATCH` too (`non_idempotent`).
    pub non_idempotent: bool,
    /// Most tries, 0 for one per peer (`*_next_upstream_tries`).
    pub tries: u32,
    /// No new try after this many milliseconds, 0 for no bound (`*_next_upstream_timeout`).
    pub timeout_ms: u64,
}

impl NextUpstream {
    /// Never another peer (`off`).
    pub const OFF: Self = Self {
        error: false,
        timeout: false,
        invalid_header: false,
        http_500: false,
        http_502: false,
        http_503: false,
        http_504: false,
        http_403: false,
        http_404: false,
        http_429: false,
        non_idempotent: false,
        tries: 0,
        timeout_ms: 0,
    };

    /// Sets the condition that nginx calls `word`; `false` for an unknown one. `off` clears all conditions.
    pub fn set(&mut self, word: &str) -> bool {
        let flag = match word {
            "error" => &mut self.error,
            "timeout" => &mut self.timeout,
            "invalid_header" => &mut self.invalid_header,
            "http_500" => &mut self.http_500,
            "http_502" => &mut self.http_502,
            "http_503" => &mut self.http_503,
            "http_504" => &mut self.http_504,
            "http_403" => &mut self.http_403,
            "http_404" => &mut self.http_404,
            "http_429" => &mut self.http_429,
            "non_idempotent" => &mut self.non_idempotent,
            "off" => {
                *self = Self { tries: self.tries, timeout_ms: self.timeout_ms, ..Self::OFF };
                return true;
            }
            _ => return false,
        };
        *flag = true;
        true
    }

    /// Whether a response with this status is reason to try another peer.
    pub fn on_status(&self, status: u16) -> bool {
        match status {
            500 => self.http_500,
            502 => self.http_502,
            503 => self.http_503,
            504 => self.http_504,
            403 => self.http_403,
            404 => self.http_404,
            429 => self.http_429,
            _ => false,
        }
    }
}

impl Default for NextUpstream {
    /// nginx's `error timeout`.
    fn default() -> Self {
        Self { error: true, timeout: true, ..Self::OFF }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_next_upstream_set_their_condition() {
        let mut next = NextUpstream::OFF;
        for (word, status) in [
            ("http_500", 500),
            ("http_502", 502),
            ("http_503", 503),
            ("http_504", 504),
            ("http_403", 403),
            ("http_404", 404),
            ("http_429", 429),
        ] {
            assert!(!next.on_status(status));
            assert!(next.set(word));
            assert!(next.on_status(status));
        }
        assert!(next.set("error") && next.set("timeout") && next.set("invalid_header"));
        assert!(next.error && next.timeout && next.invalid_header && !next.non_idempotent);
        assert!(!next.set("http_501"));
        assert!(!next.on_status(200));
        next.tries = 3;
        assert!(next.set("off"));
        assert_eq!(next, NextUpstream { tries: 3, ..NextUpstream::OFF });
    }
}
