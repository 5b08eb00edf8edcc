//! State of a fetch's task.

use myriad_http::Method;
use myriad_policy::SharedFetchFields;
use myriad_store::FlightWriter;
use myriad_upstream::{Attempts, OriginRequest, OriginResponse};

use super::report::Reporter;
use crate::companion::CompanionFetch;
use crate::early_refresh::RefreshPermit;
use crate::journey_step::OwnedCacheContext;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::UpstreamTarget;
use myriad_store::page::{FetchAdmission, FetchPermit, PageMeta};

/// State of a fetch's task.
pub(super) struct FetchJob {
    /// Copy of the request that started the fetch.
    pub exchange: Box<Exchange>,
    /// Origin and cache.
    pub held: OwnedCacheContext,
    /// Writer of the page.
    pub writer: FlightWriter<PageMeta>,
    /// Request to the origin.
    pub request: OriginRequest,
    /// Position among the zone's fetches, or in the queue for them.
    pub admission: FetchAdmission,
    /// Target of the request, or the name to resolve first.
    pub target: UpstreamTarget,
    /// Channel to the request that started the fetch, if it waits.
    pub reporter: Reporter,
    /// Budget of an early refresh.
    pub permit: Option<RefreshPermit>,
    /// Purpose of the fetch.
    pub goal: FetchGoal,
}

/// Purpose of a fetch.
pub(super) struct FetchGoal {
    /// Method of the request to the origin.
    pub method: Method,
    /// Set if a stored page with a status below 500 exists, which can be served after a failure.
    pub usable_page: bool,
    /// Set if the request to the origin is conditional.
    pub conditional: bool,
    /// Set if the key is the key for other codings.
    pub is_for_other_codings: bool,
    /// Fetch under the other key, to which the response may belong too.
    pub companion: Option<CompanionFetch>,
    /// Set if the response may be private to its client: the request has bypassed the cache, or has `Authorization`.
    pub own_request: bool,
    /// Header fields that the origin receives instead of the request's fields.
    pub shared_headers: Option<SharedFetchFields>,
}

/// Response head, with a body in transit.
pub(super) struct FetchedResponse {
    /// Response of the origin.
    pub response: Box<OriginResponse>,
    /// Position among the fetches that fill the zone.
    pub fetching: FetchPermit,
    /// Time of the request, in ms since the epoch.
    pub requested_at: u64,
    /// Attempts of the fetch. They report a fatal error after the end of the body.
    pub attempts: Attempts,
}
