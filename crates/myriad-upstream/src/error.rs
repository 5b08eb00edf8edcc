//! Why an origin gave no response, in nginx's words for the error log.

use std::fmt;
use std::io;

use myriad_http::body::BodyError;

use crate::address::Address;

/// What was being done when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No connection yet.
    Connecting,
    /// Connected, TLS not yet agreed on.
    Handshaking,
    /// The request was not fully sent.
    Sending,
    /// The request was sent, the response head was not complete.
    ReadingHead,
    /// The head was complete, the body was not.
    ReadingBody,
}

impl Phase {
    /// The words that follow "while" in the error log.
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

/// The kind of a failure, as `*_next_upstream` and `*_use_stale` tell them apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// No connection could be made (`error`).
    Connect,
    /// Connecting, sending or reading took longer than allowed (`timeout`).
    Timeout,
    /// The origin closed the connection too early (`error`).
    Closed,
    /// A kept connection of HTTP/2 on which nothing comes any more, not even an answer to PING (`error`).
    Silent,
    /// Reading from or writing to the origin failed (`error`).
    Io,
    /// The FastCGI application refused to run the request (`error`).
    Rejected,
    /// The origin has done nothing of the request, so that it may be sent again whatever it asks for (`error`).
    Refused,
    /// The response is not HTTP, FastCGI or CGI (`invalid_header`).
    InvalidHead,
    /// The response head is larger than the buffer for it (`invalid_header`).
    TooLargeHead,
    /// TLS could not be agreed on, or the certificate does not prove who the origin is (`error`).
    Tls,
    /// Every peer is down, failing or full (`error`).
    NoLivePeer,
    /// Every peer has as many requests as it may have, and this one may not wait for another to end.
    Busy,
    /// This server keeps the request from its origin for now (`origin_queue`); the status that says so.
    NotAsked(u16),
    /// As `NotAsked`, for this visitor alone (`limit_req ... origin_only`).
    Limited(u16),
    /// The worker has as many connections as it may have, to origins or in all (`worker_connections`).
    NoConnection,
    /// The client's own request body broke off; no fault of the origin, never tried again.
    RequestBody(BodyError),
}

/// An origin gave no response.
#[derive(Clone, Debug)]
pub struct OriginError {
    kind: ErrorKind,
    phase: Phase,
    what: String,
    peer: Option<Address>,
}

impl OriginError {
    pub(crate) fn new(kind: ErrorKind, phase: Phase, what: impl Into<String>) -> Self {
        Self { kind, phase, what: what.into(), peer: None }
    }

    pub(crate) fn timeout(phase: Phase) -> Self {
        Self::new(ErrorKind::Timeout, phase, "upstream timed out (110: Connection timed out)")
    }

    pub(crate) fn closed(phase: Phase) -> Self {
        Self::new(ErrorKind::Closed, phase, "upstream prematurely closed connection")
    }

    pub(crate) fn io(call: &str, error: &io::Error, phase: Phase) -> Self {
        Self::new(ErrorKind::Io, phase, format!("{call}() failed ({})", describe(error)))
    }

    pub(crate) fn invalid(phase: Phase, what: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidHead, phase, what)
    }

    /// The origin was not asked, so that it is none of its doing.
    pub fn not_asked(status: u16, why: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotAsked(status), Phase::Connecting, why)
    }

    /// The origin was not asked for this visitor, who is beyond a limit.
    pub fn limited(status: u16, why: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limited(status), Phase::Connecting, why)
    }

    /// The same, where it was learned of while something else was done.
    #[must_use]
    pub(crate) fn during(mut self, phase: Phase) -> Self {
        self.phase = phase;
        self
    }

    /// A refusal of what cannot be sent again is a failure like any other.
    #[must_use]
    pub(crate) fn without_refusal(mut self) -> Self {
        if self.kind == ErrorKind::Refused {
            self.kind = ErrorKind::Closed;
        }
        self
    }

    #[must_use]
    pub(crate) fn at(mut self, peer: &Address) -> Self {
        self.peer = Some(peer.clone());
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// What was being done.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The peer that failed, `None` where none could be chosen.
    pub fn peer(&self) -> Option<&Address> {
        self.peer.as_ref()
    }

    /// The status to answer: 504 after a time-out, 503 where this server lacks a connection, its own where it does not ask, the client's where its body broke off, else 502.
    pub fn status(&self) -> u16 {
        match &self.kind {
            ErrorKind::Timeout => 504,
            ErrorKind::NoConnection => 503,
            ErrorKind::NotAsked(status) | ErrorKind::Limited(status) => *status,
            ErrorKind::RequestBody(error) => error.status(),
            _ => 502,
        }
    }

    /// The error of a body whose head was already passed on.
    pub(crate) fn into_body_error(self) -> BodyError {
        match self.kind {
            ErrorKind::RequestBody(error) => error,
            _ => BodyError::Origin(self.to_string()),
        }
    }
}

/// `111: Connection refused`, as nginx shows system errors.
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
