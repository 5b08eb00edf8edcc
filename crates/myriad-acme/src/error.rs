//! Why an authority gave no certificate.

use std::fmt;

/// What stands between a name and its certificate.
#[derive(Debug)]
pub enum Error {
    /// The authority could not be talked to: which URL, and what happened.
    Connection {
        /// The URL that was asked.
        url: String,
        /// What the system or TLS said.
        why: String,
    },
    /// The authority answered with a problem document (RFC 8555 section 6.7).
    Problem(Problem),
    /// The authority answered with something else than the protocol has: what was expected.
    Protocol(String),
    /// The authority could not validate a name: the name, and what it found.
    Validation {
        /// The name.
        identifier: String,
        /// What the authority said.
        why: String,
    },
    /// The configuration asks for what the authority does not do.
    Refused(String),
    /// A key could not be made, or the machine has no more randomness or memory.
    Cryptography(&'static str),
    /// The client was told to stop.
    Stopped,
}

/// A problem document: the authority's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problem {
    /// The last part of its type: `badNonce`, `rateLimited`, …; empty where it names none.
    pub kind: String,
    /// For people, with the details of each name.
    pub detail: String,
    /// The status of the answer.
    pub status: u16,
    /// When to come back, in seconds from now (`Retry-After`).
    pub retry_after_s: Option<u64>,
}

impl Error {
    /// Seconds that the authority asks to wait.
    pub fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::Problem(problem) => problem.retry_after_s,
            _ => None,
        }
    }

    /// Whether the authority called it by this name (RFC 8555 section 6.7).
    pub fn is_problem(&self, kind: &str) -> bool {
        matches!(self, Self::Problem(problem) if problem.kind == kind)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { url, why } => write!(f, "\"{url}\" cannot be asked: {why}"),
            Self::Problem(problem) => write!(f, "the authority refused: {problem}"),
            Self::Protocol(what) => write!(f, "the authority's answer makes no sense: {what}"),
            Self::Validation { identifier, why } => {
                write!(f, "the authority could not validate \"{identifier}\": {why}")
            }
            Self::Refused(why) => f.write_str(why),
            Self::Cryptography(what) => write!(f, "{what} failed"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.kind.is_empty() { "problem" } else { self.kind.as_str() };
        write!(f, "{kind} (status {})", self.status)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

/// What a peer says, made fit for one line of a log: no control characters, bounded.
pub(crate) fn one_line(text: &str) -> String {
    const LONGEST: usize = 600;
    let clean = |character: char| if character.is_control() { ' ' } else { character };
    let mut line: String = text.chars().take(LONGEST).map(clean).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}
