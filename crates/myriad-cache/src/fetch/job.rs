//! Data of a fetch's task.

use myriad_http::Method;
use myriad_policy::SharedFetchFields;
use myriad_store::FlightWriter;
use myriad_upstream::{Attempts, OriginRequest, OriginResponse};

use super::report::Reporter;
use crate::adaptive_validity::NoiseCheck;
use crate::companion::CompanionFetch;
use crate::early_refresh::RefreshPermit;
use crate::journey_step::OwnedCacheContext;
use crate::leak_guard::{FetchGuard, Verification};
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::UpstreamTarget;
use myriad_store::page::{FetchAdmission, FetchPermit, Page, PageLease, PageMeta};

/// Data that the task of a fetch needs.
pub(super) struct FetchJob {
    /// Copy of the request that started the fetch.
    pub exchange: Box<Exchange>,
    /// Settings of the location for the origin and the cache.
    pub held: OwnedCacheContext,
    /// Writer of the page in flight, from which waiting requests read the page.
    pub writer: FlightWriter<PageMeta>,
    /// Request to the origin, ready to be sent.
    pub request: OriginRequest,
    /// Slot among the concurrent fetches of the zone, or a position in the queue for a slot.
    pub admission: FetchAdmission,
    /// Upstream group to which the request is sent, or a host name to resolve first.
    pub target: UpstreamTarget,
    /// Channel to the request that started the fetch; `None` if no request waits for a report.
    pub reporter: Reporter,
    /// Permit of an early refresh, which is released when the fetch is complete; `None` for other fetches.
    pub permit: Option<RefreshPermit>,
    /// Facts about the fetch for the decision whether to store the response.
    pub goal: FetchGoal,
}

/// Facts about a fetch for the decision whether to store its response.
pub(super) struct FetchGoal {
    /// Method of the request to the origin.
    pub method: Method,
    /// True if a stored page with a status below 500 exists, which can be served after a failure.
    pub usable_page: bool,
    /// True if the request to the origin is conditional (`If-None-Match`, `If-Modified-Since`), so that a 304 confirms
    /// the stored page.
    pub conditional: bool,
    /// True if the page is fetched under the key for clients that only accept other codings ([`crate::other_codings`]).
    pub is_for_other_codings: bool,
    /// Entry under the page's other key (shared, or for other codings), to which the response may belong as well;
    /// `None` if the response may not be stored there.
    pub companion: Option<CompanionFetch>,
    /// True if the response may be private to the client: the request has bypassed the cache, or has an `Authorization`
    /// that the cache key does not contain.
    pub own_request: bool,
    /// Header fields sent to the origin instead of the client's fields; `None` to send the client's fields.
    pub shared_headers: Option<SharedFetchFields>,
    /// Check that caused this fetch, to find the noise of the page (text that differs at each rendering); `None` for
    /// other fetches.
    pub noise_check: Option<NoiseCheck>,
    /// Lease with which the page is stored for the other nodes of the cluster; `None` if this fetch has none.
    pub lease: Option<Box<dyn PageLease>>,
    /// Values that the response must not contain; `None` if `leak_guard` is off.
    pub guard: Option<FetchGuard>,
}

/// Response of an origin whose body has not been read yet.
pub(super) struct FetchedResponse {
    /// Response of the origin.
    pub response: Box<OriginResponse>,
    /// Slot among the concurrent fetches of the zone.
    pub fetching: FetchPermit,
    /// Time when the request was sent, in milliseconds since the epoch.
    pub requested_at: u64,
    /// Attempts of the fetch, which report a fatal error of the application at the end of the body.
    pub attempts: Attempts,
}

/// Reason for which a page is fetched again at once.
pub(super) enum NextCause {
    /// The stored page differs from the page that it replaced. The next fetch finds its noise.
    NoiseCheck(Page, NoiseCheck),
    /// The response contained a value of the visitor. The next fetch shows whether the page contains the value by
    /// coincidence.
    Verification(Verification),
}
