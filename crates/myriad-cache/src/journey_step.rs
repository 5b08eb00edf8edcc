//! Steps of a cached request, their order and their arguments.
//!
//! ```text
//!             .--- no body yet: Gather
//!             v
//! begin -> LookUp -- fresh --------------> Serve -- body on disk -> Open -> Serve -> Done
//!             |   \-- not in memory -> Seek -> Load -> Read -> LookUp
//!             |   \-- policy: bypass ----> Pass -> Done
//!             |   \-- known visitor -----> Known -> Done, or Pass
//!             |   \-- expires soon ------> Refresh -> Serve
//!             v
//!           Stale -- may be served ------> Serve, or Refresh -> Serve
//!             |   \-- not shareable -----> Lead or Pass
//!             |   \-- too many queries --> Wait -> LookUp
//!             v
//!           Claim -- stored meanwhile ---> Serve
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

use crate::fetch::FetchReport;
use myriad_exchange::exchange::PhaseStep;
use myriad_exchange::runtime::{CachePlace, OriginPlace};
use myriad_store::page::{Page, PageMeta};

/// Borrowed origin and cache settings of the request's location, which each step receives.
#[derive(Clone, Copy)]
pub(crate) struct CacheContext<'a> {
    /// Origin settings of the location.
    pub origin: &'a Arc<OriginPlace>,
    /// Cache of the location that the request uses.
    pub cache: &'a Arc<CachePlace>,
}

impl CacheContext<'_> {
    /// Clones both references, so that they can be used across a wait.
    pub(crate) fn to_owned(self) -> OwnedCacheContext {
        OwnedCacheContext { origin: Arc::clone(self.origin), cache: Arc::clone(self.cache) }
    }

    /// Returns the time in milliseconds for which a page counts as being updated once its refresh has started: the sum
    /// of connect and read timeout.
    pub(crate) fn lease_ms(self) -> u64 {
        self.origin.fetch.timeouts.read_ms.saturating_add(self.origin.fetch.timeouts.connect_ms)
    }
}

/// Owned form of [`CacheContext`], for use across a wait or by a fetch.
pub(crate) struct OwnedCacheContext {
    /// Origin settings of the location.
    pub origin: Arc<OriginPlace>,
    /// Cache of the location that the request uses.
    pub cache: Arc<CachePlace>,
}

impl OwnedCacheContext {
    /// Borrows the origin and the cache, in the form that steps take.
    pub(crate) fn get(&self) -> CacheContext<'_> {
        CacheContext { origin: &self.origin, cache: &self.cache }
    }
}

/// Next step of a cached request, with its arguments.
pub(crate) enum JourneyStep {
    /// No further step: contains the result, with which the request continues.
    Done(PhaseStep),
    /// Execute a purge request, or apply the policy and look the page up in memory.
    LookUp,
    /// Serve the shared page, stored or fetched, with individual parts to a known visitor (a request with a cookie of
    /// `esi_known_cookies`), if the page is for known visitors ([`crate::esi`]).
    Known,
    /// Wait for this number of milliseconds (`origin_query_limit`), then look the page up again.
    Wait(u64),
    /// Read the request body, which the key or a condition of `*_cache_share` may contain, then look the page up again.
    Gather,
    /// Search the index of the disk tier, because the page is not in memory.
    Seek,
    /// Start to read this file, which may contain the page.
    Load(PageFile),
    /// Wait until the file is read, then look the page up again.
    Read(FlightReader<PageMeta>),
    /// Serve this page with this cache status.
    Serve(Page, CacheStatus),
    /// Open the file of a page whose body is too large for memory, then serve the page.
    Open(Page, CacheStatus),
    /// Refresh the page in the background, and serve the stored page.
    Refresh(Page, RefreshReason),
    /// Decide how to proceed without a fresh page. Contains the expired page, if any.
    Stale(Option<Page>),
    /// Fetch the page for all clients, or wait for an earlier request that fetches it. The stale page, if any, may be
    /// served after a failure.
    Claim(Option<Page>),
    /// Fetch the page without a lock, so that no other request waits for this fetch. The stale page, if any, is
    /// replaced.
    Lead(Option<Page>),
    /// Wait for a page that is being fetched, then serve it or choose another step.
    Follow(FlightWait),
    /// Send the request to the origin, and do not share the response with other clients.
    Pass(PassReason),
    /// Send the request to the origin like [`JourneyStep::Pass`], with a body that is too long to be read into memory
    /// for the key.
    PassBody(RequestPayload),
}

/// Reason for a refresh in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefreshReason {
    /// The page is fresh, requested often and expires soon ([`crate::early_refresh`]).
    Early,
    /// The page is stale, and is served while it is refreshed (`*_cache_background_update`).
    Stale,
}

/// Reason why a request is passed to the origin and its response is not shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassReason {
    /// The policy permits the request neither to read nor to fill the cache, for this reason.
    Bypass(BypassReason),
    /// The client's `Connection` lists header fields that the key may contain ([`crate::hidden_fields`]).
    HiddenFields,
    /// The response will not be stored, or the request must not be sent twice
    /// ([`crate::shared_fetch_headers::is_fetched_alone`]).
    Unstored,
    /// The requested range begins at or after `*_cache_max_range_offset`, or counts from the end of the response.
    FarRange,
    /// The page was requested less often than `*_cache_min_uses`.
    Seldom,
    /// The page under the key is a slice of a response, but this request does not use slices.
    Piece,
    /// The wait for another request's fetch timed out (`*_cache_lock_timeout`).
    LockTimeout,
    /// The request is from a known visitor, but the cache has no page marked for known visitors, or the origin must
    /// first compare that page with the visitor's own ([`crate::esi`]).
    NotCut,
    /// The response that this request waited for, or a recent one under its key, is private or not usable for this
    /// request.
    NotShared,
}

impl PassReason {
    /// Returns a short reason for `$upstream_cache_reason` and logs.
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

/// Data with which a request waits for a page that is being fetched.
pub(crate) struct FlightWait {
    /// Reader of the page that is being fetched.
    pub reader: FlightReader<PageMeta>,
    /// Receiver of the result, for the request that started the fetch; `None` for other requests.
    pub report: Option<oneshot::Receiver<FetchReport>>,
    /// Stale page that may be served after a failure; `None` if there is none.
    pub stale: Option<Page>,
    /// Maximum wait (`*_cache_lock_timeout`); `None` for no limit.
    pub timeout: Option<Duration>,
}
