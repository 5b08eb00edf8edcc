//! Reasons why a certificate was not issued.

use std::fmt;

/// Error of a certificate order.
#[derive(Debug)]
pub enum AcmeError {
    /// The connection to the authority failed.
    Connection {
        /// Requested URL.
        url: String,
        /// Error of the system or of TLS.
        why: String,
    },
    /// The authority responded with a problem document (RFC 8555 section 6.7).
    Problem(AcmeProblem),
    /// The authority's response violates the protocol; the text describes the expectation.
    Protocol(String),
    /// The authority could not validate a name.
    Validation {
        /// Name that failed.
        identifier: String,
        /// Reason from the authority.
        why: String,
    },
    /// The configuration requires a feature that the authority does not support.
    Refused(String),
    /// A key could not be generated, or the machine is out of randomness or memory.
    Cryptography(&'static str),
    /// The client was stopped.
    Stopped,
}

/// Problem document of the authority.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcmeProblem {
    /// Last part of its type: `badNonce`, `rateLimited`, …; empty if it has none.
    pub kind: String,
    /// Text for people, with the details of each name.
    pub detail: String,
    /// Status of the response.
    pub status: u16,
    /// Delay before a retry, in seconds from now (`Retry-After`).
    pub retry_after_s: Option<u64>,
}

impl AcmeError {
    /// Returns the delay requested by the authority in seconds.
    pub fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::Problem(problem) => problem.retry_after_s,
            _ => None,
        }
    }

    /// Returns whether the error is a problem document of this type (RFC 8555 section 6.7).
    pub fn is_problem(&self, kind: &str) -> bool {
        matches!(self, Self::Problem(problem) if problem.kind == kind)
    }
}

impl fmt::Display for AcmeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { url, why } => write!(f, "request to \"{url}\" failed: {why}"),
            Self::Problem(problem) => write!(f, "the certificate authority returned an error: {problem}"),
            Self::Protocol(what) => write!(f, "invalid response from the certificate authority: {what}"),
            Self::Validation { identifier, why } => {
                write!(f, "the certificate authority could not validate \"{identifier}\": {why}")
            }
            Self::Refused(why) => f.write_str(why),
            Self::Cryptography(what) => write!(f, "{what} failed"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for AcmeError {}

impl fmt::Display for AcmeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind.is_empty() { "problem" } else { self.kind.as_str() };
        write!(f, "{kind} (status {})", self.status)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// Makes a peer's text suitable for one line of a log: without control characters, of limited length.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 600;
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let mut line: String = text.chars().take(LONGEST).map(clean).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}
