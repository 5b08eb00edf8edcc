//! Errors of requests to origins, with nginx's messages for the error log.

use std::fmt;
use std::io;

use myriad_http::body::BodyError;

use crate::address::PeerAddress;

/// Phase of a request to an origin, for the error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The connection is not established yet.
    Connecting,
    /// The connection is established, but TLS is not.
    Handshaking,
    /// The request is not completely sent yet.
    Sending,
    /// The request is sent, but the response head is not complete.
    ReadingHead,
    /// The response head is complete, but the body is not.
    ReadingBody,
}

impl Phase {
    /// Returns the text that follows "while" in the error log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting to upstream",
            Self::Handshaking => "SSL handshaking to upstream",
            Self::Sending => "sending request to upstream",
            Self::ReadingHead => "reading response header from upstream",
            Self::ReadingBody => "reading upstream",
        }
    }
}

/// Kind of a failure; a word in parentheses is the corresponding parameter of `*_next_upstream` and `*_use_stale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The connection could not be established (`error`).
    Connect,
    /// Connecting, the TLS handshake, sending or reading timed out (`timeout`).
    Timeout,
    /// The origin closed the connection or sent an incomplete response, or refused a request that cannot be sent
    /// again (`error`).
    Closed,
    /// An HTTP/2 connection that had answered an earlier request became silent and did not answer a PING (`error`).
    Silent,
    /// Reading from or writing to the origin, or another call on the socket, failed (`error`).
    Io,
    /// The FastCGI application rejected the request (`error`).
    Rejected,
    /// The origin (over HTTP/2) reported that it did not process the request, so even a non-idempotent request can be
    /// sent again (`error`).
    Refused,
    /// The response violates its protocol, its HTTP/2 stream was reset, or its FastCGI stderr contains a text of
    /// `fastcgi_catch_stderr` (`invalid_header`).
    InvalidHead,
    /// The response head exceeds its buffer or has too many fields (`invalid_header`).
    TooLargeHead,
    /// The TLS handshake failed, or the certificate of the origin is not trusted (`error`).
    Tls,
    /// No peer is usable, or the queue for peers is full or timed out (`error`).
    NoLivePeer,
    /// The request would have to wait for a peer (`max_conns`), but may not wait in the queue.
    Busy,
    /// This server withholds the request from its origin for now (`origin_queue`, `memory_limit`); the value is the
    /// status of the response.
    NotSent(u16),
    /// This server withholds the request because its client exceeds a limit (`limit_req ... origin_only`); the value is
    /// the status of the response.
    Limited(u16),
    /// The worker has reached its maximum number of connections to origins, or in total (`worker_connections`).
    NoConnection,
    /// The request body was aborted, could not be read or has a wrong length; this is not a failure of the origin and
    /// is never retried.
    RequestBody(BodyError),
}

/// Error of a request to an origin, with its kind, its phase and the text for the error log.
#[derive(Clone, Debug)]
pub struct OriginError {
    kind: ErrorKind,
    phase: Phase,
    what: String,
    peer: Option<PeerAddress>,
}

impl OriginError {
    /// Creates an error without a peer; `what` is the text for the error log.
    pub(crate) fn new(kind: ErrorKind, phase: Phase, what: impl Into<String>) -> Self {
        Self { kind, phase, what: what.into(), peer: None }
    }

    pub(crate) fn timeout(phase: Phase) -> Self {
        Self::new(ErrorKind::Timeout, phase, "upstream timed out (110: Connection timed out)")
    }

    pub(crate) fn closed(phase: Phase) -> Self {
        Self::new(ErrorKind::Closed, phase, "upstream prematurely closed connection")
    }

    /// Creates the error of a failed system call, named as in nginx, such as `send`.
    pub(crate) fn io(call: &str, error: &io::Error, phase: Phase) -> Self {
        Self::new(ErrorKind::Io, phase, format!("{call}() failed ({})", describe(error)))
    }

    /// Creates the error for an invalid response of the origin; `what` is the text for the error log.
    pub(crate) fn invalid(phase: Phase, what: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidHead, phase, what)
    }

    /// Creates the error for a request that this server does not send for now (`origin_queue`, `memory_limit`).
    /// `status` is the status of the response to the client.
    pub fn not_sent(status: u16, why: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotSent(status), Phase::Connecting, why)
    }

    /// Creates the error for a request that this server does not send because its client exceeds a limit. `status` is
    /// the status of the response to the client.
    pub fn limited(status: u16, why: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limited(status), Phase::Connecting, why)
    }

    /// Replaces the phase of the error, for an error that was created in another phase.
    #[must_use]
    pub(crate) fn during(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// Replaces `Refused` by `Closed`, for a request that cannot be sent again.
    #[must_use]
    pub(crate) fn without_refusal(mut self) -> Self {
        if self.kind == ErrorKind::Refused {
            self.kind = ErrorKind::Closed;
        }
        self
    }

    #[must_use]
    pub(crate) fn at(mut self, peer: &PeerAddress) -> Self {
        self.peer = Some(peer.clone());
        self
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Returns the phase in which the request failed.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the address of the failed peer; `None` if no peer was chosen.
    pub fn peer(&self) -> Option<&PeerAddress> {
        self.peer.as_ref()
    }

    /// Returns the status of the error response: 504 after a timeout, 503 without a free connection of this worker, the
    /// given status if the request was withheld, [`BodyError::status`] if the request body failed, otherwise 502.
    pub fn status(&self) -> u16 {
        match &self.kind {
            ErrorKind::Timeout => 504,
            ErrorKind::NoConnection => 503,
            ErrorKind::NotSent(status) | ErrorKind::Limited(status) => *status,
            ErrorKind::RequestBody(error) => error.status(),
            _ => 502,
        }
    }

    /// Converts the error to a body error, for a response whose head was already forwarded.
    pub(crate) fn into_body_error(self) -> BodyError {
        match self.kind {
            ErrorKind::RequestBody(error) => error,
            _ => BodyError::Origin(self.to_string()),
        }
    }
}

/// Formats a system error like nginx, for example `111: Connection refused`; an error without a number as its text.
pub(crate) fn describe(error: &io::Error) -> String {
    let Some(code) = error.raw_os_error() else { return error.to_string() };
    let text = error.to_string();
    let text = text.strip_suffix(&format!(" (os error {code})")).unwrap_or(&text);
    format!("{code}: {text}")
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} while {}", self.what, self.phase.as_str())
    }
}

impl std::error::Error for OriginError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_nginx_writes_them() {
        let refused = io::Error::from_raw_os_error(111);
        assert_eq!(
            OriginError::io("connect", &refused, Phase::Connecting).to_string(),
            "connect() failed (111: Connection refused) while connecting to upstream"
        );
        assert_eq!(
            OriginError::timeout(Phase::ReadingHead).to_string(),
            "upstream timed out (110: Connection timed out) while reading response header from upstream"
        );
        assert_eq!(
            OriginError::closed(Phase::ReadingHead).to_string(),
            "upstream prematurely closed connection while reading response header from upstream"
        );
    }

    #[test]
    fn statuses_follow_the_kind() {
        assert_eq!(OriginError::timeout(Phase::Sending).status(), 504);
        assert_eq!(OriginError::closed(Phase::ReadingHead).status(), 502);
        let too_large = ErrorKind::RequestBody(BodyError::TooLarge);
        assert_eq!(OriginError::new(too_large, Phase::Sending, "body").status(), 413);
    }
}
