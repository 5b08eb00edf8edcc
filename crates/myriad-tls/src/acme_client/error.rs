//! Errors of ACME certificate orders.

use std::fmt;

/// Reason why a certificate was not issued, or an issued one is unusable.
#[derive(Debug)]
pub enum AcmeError {
    /// The URL is not an https URL, the connection to the authority failed, its response was incomplete or too large,
    /// or a time limit was reached.
    Connection {
        /// URL that was requested from the authority.
        url: String,
        /// Reason, such as a message of the system or of TLS.
        why: String,
    },
    /// The authority reported an error, by a status other than 2xx or within an order (RFC 8555 section 6.7).
    Problem(AcmeProblem),
    /// A response of the authority violates the protocol; the text contains the reason.
    Protocol(String),
    /// A certificate with its key, issued or stored, is unusable; the text contains the reason.
    Certificate(String),
    /// The authority could not validate a name, or does not offer the configured challenge for it.
    Validation {
        /// DNS name or IP address that was not validated.
        identifier: String,
        /// Reason given by the authority, or the missing challenge.
        why: String,
    },
    /// The order is impossible with this configuration; the text contains the reason.
    Refused(String),
    /// A cryptographic operation failed, such as the generation of a key; the text names it.
    Cryptography(&'static str),
    /// The other nodes of the cluster did not get the challenges; the text contains the reason.
    Cluster(String),
    /// The right to order the certificate for the nodes of a cluster was lost.
    LeaseLost,
    /// The order was cancelled: the agent was stopped, or the certificate is no longer ordered.
    Stopped,
}

/// Error reported by the authority, usually in a problem document (RFC 7807).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcmeProblem {
    /// Last component of the problem type URI, such as `badNonce` or `rateLimited`; empty if there is none.
    pub kind: String,
    /// Description of the problem for people, including the details for each name.
    pub detail: String,
    /// Status code of the response; 0 for a problem within an order or authorization.
    pub status: u16,
    /// Delay in seconds that the authority requests before a retry (`Retry-After`); `None` if it requests none.
    pub retry_after_s: Option<u64>,
}

impl AcmeError {
    /// Returns the delay in seconds that the authority requests before a retry; `None` if it requests none.
    pub fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::Problem(problem) => problem.retry_after_s,
            _ => None,
        }
    }

    /// Returns true if the error is a problem document of this type (RFC 8555 section 6.7).
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
            Self::Refused(why) | Self::Certificate(why) => f.write_str(why),
            Self::Cluster(why) => {
                write!(f, "the challenges were not sent to the other nodes of the cluster: {why}")
            }
            Self::LeaseLost => f.write_str(
                "the right to order the certificate was lost: it was not renewed in time, or another node of the cluster has it",
            ),
            Self::Cryptography(what) => write!(f, "{what} failed"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for AcmeError {}

impl fmt::Display for AcmeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind.is_empty() { "problem" } else { self.kind.as_str() };
        f.write_str(kind)?;
        if self.status != 0 {
            write!(f, " (status {})", self.status)?;
        }
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// Makes a text from another server suitable for one log line: replaces control characters by spaces, and truncates the
/// text after 600 characters.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 600;
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let mut line: String = text.chars().take(LONGEST).map(clean).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}
