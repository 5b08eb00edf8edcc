//! State of a request in the cache: its key, the progress of the look-up, and the result for logs.

use std::borrow::Cow;
use std::cell::Cell;

use myriad_policy::CacheStatus;

use super::Slice;
use myriad_store::page::Page;

use super::StoredFields;

/// Cache state and results of a request.
#[derive(Default)]
pub struct CacheState {
    /// `$upstream_cache_key`: the cache key of the requested page; empty before the key is computed.
    pub key: Vec<u8>,
    /// Stored page that may be served if the fetch fails: the expired page, or [`OtherCodings::shared_page`]. In a
    /// background refresh, the stale page that is being refreshed. `None` if there is none.
    pub stale: Option<Page>,
    /// Header fields of a page served from the cache, for `$upstream_http_*`; `None` for other responses, if this
    /// request has fetched the page ([`LookupProgress::fetched`]), and if the configuration reads no such variable.
    pub origin_fields: Option<StoredFields>,
    /// Names of the request fields that the fetched response lists in `Vary`, if that response belongs to another
    /// variant of the page than this request's, so that the look-up is repeated; otherwise `None`.
    pub varies: Option<Vec<u8>>,
    /// Content codings that the client accepts, if this server can produce none of them but the origin can select one
    /// of them; `None` otherwise, and if the page already has the maximum number of variants for such codings.
    pub codings: Option<Box<OtherCodings>>,
    /// Task that refreshes the stale page being served, or [`LookupProgress::refreshed_ahead`], in the background;
    /// `None` if this request has started none.
    pub refresh: Option<tokio::task::JoinHandle<()>>,
    /// Index in [`crate::runtime::NamedCaches::places`] of the zone that a variable selected (`proxy_cache $zone`);
    /// `None` for a fixed zone, and if the value names no zone.
    pub chosen: Option<u16>,
    /// Requested piece of a sliced response; set when `$slice_range` is evaluated in a location with `slice`, and for a
    /// subrequest that fetches a further slice.
    pub slice: Cell<Option<Slice>>,
    /// True if the request uses the cache because of a condition of `*_cache_share`, so that `*_cache_bypass` and
    /// `*_no_cache` do not apply.
    pub shared_by_condition: bool,
    /// Information about the cache's decision on this request, for logs, header fields and counters.
    pub report: CacheReport,
    /// Progress of the look-up of the page in the cache.
    pub lookup: LookupProgress,
}

impl CacheState {
    /// Returns the codings to send to the origin instead of the client's `Accept-Encoding`, if the page is stored under
    /// the separate key for clients that accept only codings which this server does not produce; otherwise `None`.
    pub fn forwarded_codings(&self) -> Option<&[u8]> {
        self.codings.as_ref().filter(|codings| codings.has_separate_key).map(|codings| &*codings.names)
    }

    /// Returns the initial state for another request for the same page: only the key, the selected zone,
    /// the slice and the result of `*_cache_share` are copied.
    pub(super) fn of_same_page(&self) -> Self {
        Self {
            key: self.key.clone(),
            chosen: self.chosen,
            slice: self.slice.clone(),
            shared_by_condition: self.shared_by_condition,
            ..Self::default()
        }
    }
}

/// Information about the cache's decision on a request, for logs, header fields and counters.
#[derive(Default)]
pub struct CacheReport {
    /// `$upstream_cache_status`; `None` if the location has no cache, or does not cache the request's method.
    pub status: Option<CacheStatus>,
    /// `$upstream_cache_age`: time from the storing of the sent page to the request, in seconds; `None` if no complete
    /// page of the cache is sent.
    pub age_s: Option<u64>,
    /// Short reason why the page did not come from the cache or the response was not stored (`$upstream_cache_reason`);
    /// `None` without a reason.
    pub reason: Option<&'static str>,
    /// Explanation that the origin sent for [`Self::reason`]: printable ASCII without quotation marks and backslashes;
    /// `None` if it sent none.
    pub explanation: Option<Box<str>>,
    /// Set if the response is a page from the cache, or is being stored in the cache. Not set if the leak guard
    /// withholds the response from other clients.
    pub stored: bool,
    /// Set if this request waited for a fetch of another request, whether or not that fetch returned a page for it.
    pub collapsed: bool,
    /// Time that the origin needed to generate the page, in milliseconds, if this request saved that time because the
    /// page came from the cache; 0 if it did not, or if the time is unknown.
    pub saved_ms: u32,
    /// Set if the optimized form of the page, or the WebP copy of an image, is sent (`$optimized`).
    pub optimized: bool,
    /// Index in [`crate::runtime::Runtime::zone_list`] of the zone that the request used. Valid if [`Self::status`] is
    /// set.
    pub zone: u16,
}

impl CacheReport {
    /// Returns the reason for a miss or for not storing, followed by the origin's explanation if it sent one; `None`
    /// without a reason.
    pub fn whole_reason(&self) -> Option<Cow<'_, str>> {
        let reason = self.reason?;
        Some(match &self.explanation {
            None => reason.into(),
            Some(because) => format!("{reason}: {because}").into(),
        })
    }
}

/// Progress of the look-up of a request's page in the cache.
#[derive(Default)]
pub struct LookupProgress {
    /// Number of times that the look-up was repeated because a fetch gave no page for this request.
    pub retries: u8,
    /// Set if the request may be answered only with a page of the cache, which may be fetched and stored for it. A
    /// response that is not stored is not requested from the origin.
    pub stored_only: bool,
    /// Set if the look-up must not contact the origin, not even to fetch the page for the cache.
    pub fetches_nothing: bool,
    /// Stored page that is refreshed without a request of a client: the look-up only starts its refresh
    /// ([`CacheState::refresh`]). `None` for a request of a client.
    pub refreshed_ahead: Option<Page>,
    /// Set if [`OriginState::head`](super::OriginState::head) belongs to the page that this request has fetched for the
    /// cache.
    pub fetched: bool,
    /// Cache file that has already been searched for the page, so that it is not read again; `None` before the search.
    pub searched_file: Option<myriad_store::PageFile>,
    /// Opened body of the page to send, if the body is on disk; `None` for a body in memory, for HEAD, and before the
    /// file is opened.
    pub open_body: Option<myriad_store::BodyReader>,
}

/// Content codings that a client accepts and that this server does not produce but the origin may, such as `deflate`;
/// with the state of the page that is stored for clients that accept only such codings.
pub struct OtherCodings {
    /// Normalized names of the codings, separated as in `Accept-Encoding`.
    pub names: Box<[u8]>,
    /// True if [`CacheState::key`] is a separate key, for clients that accept only codings that this server does not
    /// produce.
    pub has_separate_key: bool,
    /// Generation number of the page that is stored for clients without a separate key; 0 if that page does not vary by
    /// coding or does not exist. A page under the separate key with a lower generation number is outdated.
    pub younger_than: u64,
    /// Page that is stored for clients without a separate key, if this request uses or fetches a page under the
    /// separate key; otherwise `None`.
    pub shared_page: Option<Page>,
}
