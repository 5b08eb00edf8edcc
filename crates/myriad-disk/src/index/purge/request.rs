//! Purge requests of callers, and their results.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::index::{KeyRef, ValueReceiver};

/// Effect of a purge on the covered pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeKind {
    /// Removes them.
    Hard,
    /// Makes them stale from this moment on: the next request has them refreshed.
    Soft,
}

/// Pages covered by a purge. Every purge covers all variants and encodings, in memory and on disk. Fetches in progress
/// at its moment are covered too: their pages are not stored, or stale at once.
#[derive(Clone, Copy, Debug)]
pub enum PurgeScope<'a> {
    /// All pages under one of the keys, and all pages with one of the labels. They are counted at once.
    Exact {
        /// Keys.
        keys: &'a [KeyRef<'a>],
        /// Labels that a claim has before the response (its address). The purge has no effect on a fetch in progress
        /// for another address.
        addresses: &'a [u64],
        /// Labels that only responses have.
        labels: &'a [u64],
    },
    /// All pages covered by a rule, which [`crate::index::Metadata::covers`] parses. They are counted in the background.
    Rule {
        /// Name in the report of the purge's result ([`FinishedPurge`]).
        name: &'a str,
        /// Rule, at most [`MAX_RULE_LEN`] bytes.
        rule: &'a [u8],
    },
    /// All pages. They are counted in the background.
    All,
}

/// Maximum length of a rule, and of its name, in bytes.
pub const MAX_RULE_LEN: usize = 8 << 10;

/// Purge in force, which is logged if its zone has a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPurge {
    /// Number in the zone's sequence.
    pub number: u64,
    /// Number of covered pages.
    pub count: PurgeCount,
}

/// Number of pages covered by a purge. Each stored object counts once, in memory, on disk or in both: every variant of
/// a key counts, and no encoding does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeCount {
    /// Exact number.
    Exact(usize),
    /// Minimum number: more files of a former process may be found. They are covered too.
    AtLeast(usize),
    /// Reported by `Zone::tend_purges` once all pages are checked.
    Later,
}

impl PurgeCount {
    /// Returns the number known so far.
    pub fn known(self) -> usize {
        match self {
            Self::Exact(count) | Self::AtLeast(count) => count,
            Self::Later => 0,
        }
    }
}

/// Reason why a purge is not in force, or not permanently.
#[derive(Debug)]
pub enum PurgeError {
    /// [`crate::index::Metadata::covers`] cannot parse the rule, or the rule is too long. Nothing was purged.
    Rule,
    /// The maximum number of different purges is already in force. Nothing was purged.
    TooMany,
    /// The purge is in force, but could not be logged: a restart would lose it.
    Unlogged(io::Error),
}

impl fmt::Display for PurgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.write_str("no such rule"),
            Self::TooMany => f.write_str("too many concurrent purges"),
            Self::Unlogged(error) => write!(f, "cannot be logged: {error}"),
        }
    }
}

impl std::error::Error for PurgeError {}

/// Purge in progress.
///
/// It is in force from its request on, whether this is awaited or not. Its completion means that it survives a crash,
/// and returns the number of covered pages.
#[must_use = "a purge survives a crash once this has ended"]
pub struct PurgeFuture(PurgeFutureState);

enum PurgeFutureState {
    Done(Option<Result<LoggedPurge, PurgeError>>),
    Waiting(ValueReceiver<Result<LoggedPurge, PurgeError>>),
}

impl PurgeFuture {
    /// Returns a purge that is complete.
    pub fn done(end: Result<LoggedPurge, PurgeError>) -> Self {
        Self(PurgeFutureState::Done(Some(end)))
    }

    /// Returns a purge whose result a ticket will provide.
    pub fn waiting(ticket: ValueReceiver<Result<LoggedPurge, PurgeError>>) -> Self {
        Self(PurgeFutureState::Waiting(ticket))
    }
}

impl Future for PurgeFuture {
    type Output = Result<LoggedPurge, PurgeError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let gone = || Err(PurgeError::Unlogged(io::Error::other("the zone was closed")));
        match &mut self.0 {
            PurgeFutureState::Done(end) => Poll::Ready(end.take().unwrap_or_else(gone)),
            PurgeFutureState::Waiting(ticket) => {
                Pin::new(ticket).poll(cx).map(|end| end.unwrap_or_else(gone))
            }
        }
    }
}

impl fmt::Debug for PurgeFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purging").finish_non_exhaustive()
    }
}

/// Purge whose pages were all found; see `Zone::tend_purges`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedPurge {
    /// Name given by the caller.
    pub name: Arc<str>,
    /// Number in the zone's sequence.
    pub number: u64,
    /// Number of pages that were removed or made stale.
    pub count: usize,
}
