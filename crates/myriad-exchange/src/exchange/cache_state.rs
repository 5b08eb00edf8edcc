//! Cache state of an exchange.

use std::borrow::Cow;
use std::cell::Cell;

use myriad_policy::CacheStatus;

use super::Slice;
use myriad_store::page::Page;

use super::StoredFields;

/// Results of the cache for a request.
#[derive(Default)]
pub struct CacheState {
    /// `$upstream_cache_key`.
    pub key: Vec<u8>,
    /// Expired page that is served if the origin fails.
    pub stale: Option<Page>,
    /// Fields of the served stored page that `$upstream_http_*` returns; `None` if no variable reads them.
    pub origin_fields: Option<StoredFields>,
    /// Fields by which the page varies, if this was determined by fetching it.
    pub varies: Option<Vec<u8>>,
    /// Codings accepted by a client that accepts none of the codings that this server produces.
    pub codings: Option<Box<OtherCodings>>,
    /// Background refresh of the stale page that is served.
    pub refresh: Option<tokio::task::JoinHandle<()>>,
    /// Zone selected by a variable, if any.
    pub chosen: Option<u16>,
    /// Requested piece, set when `$slice_range` is evaluated in a place with `slice`.
    pub slice: Cell<Option<Slice>>,
    /// Information about the page for logs, fields and counters.
    pub report: CacheReport,
    /// Progress of the page lookup.
    pub lookup: LookupProgress,
}

impl CacheState {
    /// Returns the codings sent to the origin instead of the client's `Accept-Encoding`, for a page that is stored
    /// separately for other codings.
    pub fn forwarded_codings(&self) -> Option<&[u8]> {
        self.codings.as_ref().filter(|codings| codings.has_separate_key).map(|codings| &*codings.names)
    }

    /// Returns the state for a copy of the request for the same page, before any lookup.
    pub(super) fn of_same_page(&self) -> Self {
        Self { key: self.key.clone(), chosen: self.chosen, slice: self.slice.clone(), ..Self::default() }
    }
}

/// Information about a page for logs, fields and counters.
#[derive(Default)]
pub struct CacheReport {
    /// `$upstream_cache_status`.
    pub status: Option<CacheStatus>,
    /// `$upstream_cache_age`, in seconds.
    pub age_s: Option<u64>,
    /// Short reason why the page did not come from the cache or the response was not stored (`$upstream_cache_reason`).
    pub reason: Option<&'static str>,
    /// Explanation of [`Self::reason`] from the origin: printable ASCII without quotation marks and backslashes.
    pub explanation: Option<Box<str>>,
    /// Set if the response is a page of the cache or is being stored as one.
    pub stored: bool,
    /// Set if the page was fetched by another request, for which this request waited.
    pub collapsed: bool,
    /// Time that the origin took to generate the page, which this request saved, in milliseconds.
    pub saved_ms: u32,
    /// Zone that has set [`Self::status`]: index in [`crate::runtime::Runtime::zone_list`].
    pub zone: u16,
}

impl CacheReport {
    /// Returns the reason, with the explanation of the origin if it sent one.
    pub fn whole_reason(&self) -> Option<Cow<'_, str>> {
        let reason = self.reason?;
        Some(match &self.explanation {
            None => reason.into(),
            Some(because) => format!("{reason}: {because}").into(),
        })
    }
}

/// Progress of a page lookup.
#[derive(Default)]
pub struct LookupProgress {
    /// Number of times that waiting for the page gave no result.
    pub retries: u8,
    /// Set if only a complete cached page is acceptable: an origin is contacted only to fetch such a page.
    pub stored_only: bool,
    /// Set if no origin is contacted at all.
    pub fetches_nothing: bool,
    /// Set if the origin's head in this exchange belongs to the page that this request has fetched.
    pub fetched: bool,
    /// File in which the page was looked up.
    pub searched_file: Option<myriad_store::PageFile>,
    /// Open body of a page that is stored on disk.
    pub open_body: Option<myriad_store::BodyReader>,
}

/// Codings that only the origin may support, and their effect on the page.
pub struct OtherCodings {
    /// Normalized names of the codings.
    pub names: Box<[u8]>,
    /// True if [`CacheState::key`] is the key of pages for such clients only.
    pub has_separate_key: bool,
    /// Generation of the common page. An older page for such clients only is ignored.
    pub younger_than: u64,
    /// Common page, if this request uses or fetches a separate page.
    pub shared_page: Option<Page>,
}
