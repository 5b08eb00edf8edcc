//! Purge requests of the caller, and their results.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::index::{KeyRef, ValueReceiver};

/// Effect of a purge on the pages that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurgeKind {
    /// Removes the pages.
    Hard,
    /// Makes the pages stale from now on: they remain stored, and the next request refreshes them.
    Soft,
}

/// Pages that a purge covers: always with all variants and encodings, in memory and on disk. Pages whose fetch is in
/// progress are covered too: they are not stored, or are stale at once.
#[derive(Clone, Copy, Debug)]
pub enum PurgeScope<'a> {
    /// All pages under any of the keys, and all pages with any of the labels. The result of the purge contains their
    /// number.
    Exact {
        /// Keys of the pages to purge.
        keys: &'a [KeyRef<'a>],
        /// Hashes of the URLs of the pages to purge. A fetch in progress is covered only if it is for one of these URLs,
        /// or if its URL is unknown; the URL of a fetch is usually known before the response, unlike its tags.
        addresses: &'a [u64],
        /// Labels that are known only from responses: hashes of tags.
        labels: &'a [u64],
    },
    /// All pages covered by a rule, which [`crate::index::Metadata::covers`] parses. They are counted in the
    /// background.
    Rule {
        /// Name of the purge, reported with its result ([`FinishedPurge`]), at most [`MAX_RULE_LEN`] bytes.
        name: &'a str,
        /// Rule in the caller's format, at most [`MAX_RULE_LEN`] bytes.
        rule: &'a [u8],
    },
    /// All pages of the zone. They are counted in the background.
    All,
    /// All pages of the zone, because they may have missed purges. They are counted in the background.
    Expiry,
}

/// Name of a purge with the scope [`PurgeScope::All`].
pub const NAME_OF_ALL: &str = "all";
/// Name of a purge with the scope [`PurgeScope::Expiry`].
pub const NAME_OF_EXPIRY: &str = "pages that may have missed a purge";

/// Maximum length of a purge rule in bytes, and of its name.
pub const MAX_RULE_LEN: usize = 8 << 10;

/// Result of a purge that is active and, if its zone has a folder, logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedPurge {
    /// Number of the purge in the sequence of all fetches and purges of the zone.
    pub number: u64,
    /// Number of pages that the purge covered, as far as known.
    pub count: PurgeCount,
}

/// Number of pages covered by a purge. Each variant of a key counts as one page, whether it is in memory, on disk or
/// both; encodings do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeCount {
    /// Exact number of covered pages.
    Exact(usize),
    /// Minimum number of covered pages: the search at startup may still find files of a former process, which are
    /// covered too.
    AtLeast(usize),
    /// Number not known yet: `Zone::maintain_purges` reports it once all pages are checked.
    Later,
}

impl PurgeCount {
    /// Returns the number of covered pages known so far; 0 for `Later`.
    pub fn known(self) -> usize {
        match self {
            Self::Exact(count) | Self::AtLeast(count) => count,
            Self::Later => 0,
        }
    }
}

/// Reason why a purge was rejected, or is not durable.
#[derive(Debug)]
pub enum PurgeError {
    /// The rule cannot be parsed by [`crate::index::Metadata::covers`], or the rule or its name is too long. Nothing
    /// was purged.
    Rule,
    /// The maximum number of purges is active already. Nothing was purged.
    TooMany,
    /// The purge is active, but could not be logged: a restart may lose it.
    Unlogged(io::Error),
}

impl fmt::Display for PurgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.write_str("invalid rule"),
            Self::TooMany => f.write_str("too many concurrent purges"),
            Self::Unlogged(error) => write!(f, "cannot be logged: {error}"),
        }
    }
}

impl std::error::Error for PurgeError {}

/// Future of a requested purge.
///
/// The purge is active from its request on, whether this future is polled or not. The future completes with the number
/// of covered pages once the purge survives a crash, or with an error if the purge could not be logged.
#[must_use = "a purge survives a crash once this has ended"]
pub struct PurgeFuture(PurgeFutureState);

enum PurgeFutureState {
    Done(Option<Result<LoggedPurge, PurgeError>>),
    Waiting(ValueReceiver<Result<LoggedPurge, PurgeError>>),
}

impl PurgeFuture {
    /// Returns a future that completes at once with the result `end`.
    pub fn done(end: Result<LoggedPurge, PurgeError>) -> Self {
        Self(PurgeFutureState::Done(Some(end)))
    }

    /// Returns a future of the result that `ticket` will receive.
    pub fn waiting(ticket: ValueReceiver<Result<LoggedPurge, PurgeError>>) -> Self {
        Self(PurgeFutureState::Waiting(ticket))
    }

    /// Returns the future if the purge is active.
    ///
    /// # Errors
    /// Returns the reason if the purge was refused: [`PurgeError::Rule`] or [`PurgeError::TooMany`].
    pub fn if_active(mut self) -> Result<Self, PurgeError> {
        if let PurgeFutureState::Done(end) = &mut self.0
            && let Some(Err(PurgeError::Rule | PurgeError::TooMany)) = end
            && let Some(Err(error)) = end.take()
        {
            return Err(error);
        }
        Ok(self)
    }

    /// Calls `observer` once the purge survives a crash (with its result), or could not be logged (with `None`). The call
    /// happens also if this future is dropped before, on another thread. `observer` must not block. A second observer
    /// replaces the first one if that was not called.
    pub fn observe(&self, observer: impl FnOnce(Option<LoggedPurge>) + Send + 'static) {
        let logged = |end: Option<&Result<LoggedPurge, PurgeError>>| end?.as_ref().ok().copied();
        match &self.0 {
            PurgeFutureState::Done(end) => observer(logged(end.as_ref())),
            PurgeFutureState::Waiting(ticket) => ticket.observe(move |end| observer(logged(end))),
        }
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
        f.debug_struct("PurgeFuture").finish_non_exhaustive()
    }
}

/// Purge by rule or of everything, with the number of its pages. Those that `Zone::maintain_purges` returns are
/// complete; those of [`LivePurges::unreported`](crate::index::LivePurges::unreported) may still be counting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedPurge {
    /// Name that the caller gave the purge.
    pub name: Arc<str>,
    /// Number of the purge in the sequence of all fetches and purges of the zone.
    pub number: u64,
    /// Number of pages that were removed or made stale so far.
    pub count: usize,
    /// True for the scope [`PurgeScope::Expiry`], also after a restart.
    pub is_expiry: bool,
}
