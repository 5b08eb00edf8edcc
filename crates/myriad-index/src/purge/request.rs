//! What callers say of a purge, and what they are told of it.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::{KeyRef, Ticket};

/// What a purge does with what it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purge {
    /// Takes it out.
    Hard,
    /// Leaves it, stale from this moment on: the next visitor has it refreshed.
    Soft,
}

/// What a purge covers. Every purge covers all variants and encodings, in memory and on disk, and what is being fetched
/// at its moment: that is not stored, or stale at once.
#[derive(Clone, Copy, Debug)]
pub enum Covered<'a> {
    /// All pages under one of the keys, and all that bear one of the labels. They are counted at once.
    Exact {
        /// Keys.
        keys: &'a [KeyRef<'a>],
        /// Labels that whoever claims a page knows already (the address of a claim): a fetch under way for another
        /// address goes on as if nothing had happened.
        addresses: &'a [u64],
        /// Labels that only a response tells.
        labels: &'a [u64],
    },
    /// All pages that a rule covers, which [`crate::Metadata::covers`] reads. They are counted in the background.
    Rule {
        /// What the purge is called where its end is told ([`Retired`]).
        name: &'a str,
        /// The rule, at most [`MOST_RULE`] bytes.
        rule: &'a [u8],
    },
    /// All pages. They are counted in the background.
    All,
}

/// Most bytes of a rule, and of its name.
pub const MOST_RULE: usize = 8 << 10;

/// A purge that holds, and is written down where its zone has a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purged {
    /// Its place in the zone's sequence.
    pub number: u64,
    /// How many pages it covered.
    pub count: Count,
}

/// How many pages a purge covered: each stored object counts once, in memory, on disk or in both, so every variant of a
/// key counts, and no encoding does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many.
    Exact(usize),
    /// So many and perhaps more: files of a former process are still being found. They are covered.
    AtLeast(usize),
    /// Told by `Zone::tend_purges` once all pages were asked.
    Later,
}

impl Count {
    /// The count as far as it is known.
    pub fn known(self) -> usize {
        match self {
            Self::Exact(count) | Self::AtLeast(count) => count,
            Self::Later => 0,
        }
    }
}

/// Why a purge may not hold, or not for good.
#[derive(Debug)]
pub enum PurgeError {
    /// [`crate::Metadata::covers`] reads no rule in these bytes, or they are too many. Nothing was purged.
    Rule,
    /// As many different purges as are kept at once wait for all pages to be asked. Nothing was purged.
    TooMany,
    /// It holds, but could not be written down: a restart would forget it.
    Unlogged(io::Error),
}

impl fmt::Display for PurgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule => f.write_str("no such rule"),
            Self::TooMany => f.write_str("too many purges at once"),
            Self::Unlogged(error) => write!(f, "cannot be written down: {error}"),
        }
    }
}

impl std::error::Error for PurgeError {}

/// A purge on its way. It holds from the moment it was asked for, whether this is awaited or not; its end says that it
/// survives a crash, and how many pages it covered.
#[must_use = "a purge survives a crash once this has ended"]
pub struct Purging(State);

enum State {
    Done(Option<Result<Purged, PurgeError>>),
    Waiting(Ticket<Result<Purged, PurgeError>>),
}

impl Purging {
    /// One that has ended.
    pub fn done(end: Result<Purged, PurgeError>) -> Self {
        Self(State::Done(Some(end)))
    }

    /// One whose end a ticket will tell.
    pub fn waiting(ticket: Ticket<Result<Purged, PurgeError>>) -> Self {
        Self(State::Waiting(ticket))
    }
}

impl Future for Purging {
    type Output = Result<Purged, PurgeError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let gone = || Err(PurgeError::Unlogged(io::Error::other("the zone has closed")));
        match &mut self.0 {
            State::Done(end) => Poll::Ready(end.take().unwrap_or_else(gone)),
            State::Waiting(ticket) => Pin::new(ticket).poll(cx).map(|end| end.unwrap_or_else(gone)),
        }
    }
}

impl fmt::Debug for Purging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Purging").finish_non_exhaustive()
    }
}

/// A purge whose pages were all found; see `Zone::tend_purges`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retired {
    /// What the purge was called when it was made.
    pub name: Arc<str>,
    /// Its place in the zone's sequence.
    pub number: u64,
    /// Pages that were taken out, or made stale.
    pub count: usize,
}
