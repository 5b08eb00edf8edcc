//! The journey of a page: which step comes next, and what every step is given.
//!
//! ```text
//!             .--- no body yet: Gather
//!             v
//! begin -> LookUp -- fresh --------------> Serve -- body on disk -> Open -> Serve -> Done
//!             |   \-- not in memory -> Seek -> Load -> Read -> LookUp
//!             |   \-- policy says no ----> Pass -> Done
//!             |   \-- visitor is known --> Known -> Done, or Pass
//!             |   \-- due soon ----------> Refresh -> Serve
//!             v
//!           Stale -- may be served ------> Serve, or Refresh -> Serve
//!             |   \-- is for one visitor -> Lead or Pass
//!             |   \-- too many queries ---> Wait -> LookUp
//!             v
//!           Claim -- found meanwhile ----> Serve
//!             |   \-- hit-for-miss ------> Lead or Pass
//!             v
//!           Follow -> Serve, Claim again, Pass, or Done
//! ```

use std::sync::Arc;
use std::time::Duration;

use myriad_policy::{BypassReason, CacheStatus};
use myriad_store::{FlightReader, PageFile};
use myriad_upstream::RequestPayload;
use tokio::sync::oneshot;

use crate::fetch::Report;
use myriad_exchange::exchange::Step;
use myriad_exchange::runtime::{CachePlace, OriginPlace};
use myriad_page::{Page, PageMeta};

/// An origin and the cache before it, as a step is given them.
#[derive(Clone, Copy)]
pub(crate) struct Cached<'a> {
    /// The origin.
    pub origin: &'a Arc<OriginPlace>,
    /// The cache.
    pub cache: &'a Arc<CachePlace>,
}

impl Cached<'_> {
    /// The same, to be held while something is waited for.
    pub(crate) fn hold(self) -> Held {
        Held { origin: Arc::clone(self.origin), cache: Arc::clone(self.cache) }
    }

    /// How long a page counts as updating, ms: as long as a fetch may take before its head is there.
    pub(crate) fn lease_ms(self) -> u64 {
        self.origin.fetch.timeouts.read_ms.saturating_add(self.origin.fetch.timeouts.connect_ms)
    }
}

/// An origin and the cache before it, held over a wait or by a fetch.
pub(crate) struct Held {
    /// The origin.
    pub origin: Arc<OriginPlace>,
    /// The cache.
    pub cache: Arc<CachePlace>,
}

impl Held {
    /// As steps are given it.
    pub(crate) fn get(&self) -> Cached<'_> {
        Cached { origin: &self.origin, cache: &self.cache }
    }
}

/// What a step of the journey came to: the step that follows, with what it needs.
pub(crate) enum Next {
    /// The journey is over.
    Done(Step),
    /// The page is looked up in memory.
    LookUp,
    /// A known visitor asks, who may read a page that its origin has cut ([`crate::esi`]).
    Known,
    /// The request waits for its turn, milliseconds (`origin_query_limit`); then the page is looked up again.
    Wait(u64),
    /// The request's body is read first: the key may hold it.
    Gather,
    /// Memory has no page: it is asked whether the disk may have it.
    Seek,
    /// The page may be in this file.
    Load(PageFile),
    /// The file is being read.
    Read(FlightReader<PageMeta>),
    /// The page is served.
    Serve(Page, CacheStatus),
    /// The page's body is too long for memory: its file is opened, then the page is served.
    Open(Page, CacheStatus),
    /// The page is refreshed behind the visitor, who gets it as it is.
    Refresh(Page, Occasion),
    /// There is no fresh page; there may be a stale one.
    Stale(Option<Page>),
    /// The page is fetched for everybody, by this request or by one that was first; a stale page may stand in.
    Claim(Option<Page>),
    /// The page is fetched and nobody waits for it; the answer may replace the stale page.
    Lead(Option<Page>),
    /// A page that is being fetched is waited for.
    Follow(Follow),
    /// The origin is asked for this visitor alone.
    Pass(PassReason),
    /// As [`Next::Pass`], with a body that was too long to be gathered for the key.
    PassBody(RequestPayload),
}

/// Why a page is refreshed though the visitor gets it as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// It is fresh, and asked for often: [`crate::early`].
    Early,
    /// It is stale (`*_cache_background_update`).
    Stale,
}

/// Why the origin is asked for one visitor alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassReason {
    /// The policy lets the request neither read the cache nor fill it.
    Bypass(BypassReason),
    /// `Connection` names fields that the key or the variant may hold: [`crate::hidden_fields`].
    HiddenFields,
    /// The answer will not be stored: [`crate::told::is_asked_alone`].
    Unstored,
    /// `*_cache_max_range_offset`.
    FarRange,
    /// `*_cache_min_uses`.
    Seldom,
    /// The page under the key is a piece of an answer, which nothing here asked for.
    Piece,
    /// `*_cache_lock_timeout`.
    LockTimeout,
    /// The visitor is known, and there is no page that its origin has cut for such ([`crate::esi`]).
    NotCut,
    /// The answer that was waited for is of no use to this visitor, or is for another alone.
    NotShared,
}

impl PassReason {
    /// A few words for logs and fields.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Bypass(reason) => reason.as_str(),
            Self::HiddenFields => "connection names fields",
            Self::Unstored => "no_cache",
            Self::FarRange => "far range",
            Self::Seldom => "min_uses",
            Self::Piece => "piece",
            Self::LockTimeout => "lock_timeout",
            Self::NotCut => "personal cookie, page not cut",
            Self::NotShared => "not shared",
        }
    }
}

/// A page that is being fetched, and what the visitor knows who waits for it.
pub(crate) struct Follow {
    /// What arrives.
    pub reader: FlightReader<PageMeta>,
    /// What the fetch reports to the visitor who caused it; none for other waiters.
    pub report: Option<oneshot::Receiver<Report>>,
    /// The page that may stand in for a failure.
    pub stale: Option<Page>,
    /// `*_cache_lock_timeout`, where it counts.
    pub patience: Option<Duration>,
}
