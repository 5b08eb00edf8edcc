//! The cache's part in an exchange.

use std::borrow::Cow;
use std::cell::Cell;

use myriad_policy::CacheStatus;

use super::Slice;
use myriad_page::Page;

use super::StoredFields;

/// What the cache has found out for a request.
#[derive(Default)]
pub struct CacheFacts {
    /// `$upstream_cache_key`.
    pub key: Vec<u8>,
    /// A page that is no longer fresh, to stand in for a failure.
    pub stale: Option<Page>,
    /// What `$upstream_http_*` shows of a stored page that this request is answered with; none where nothing shows it.
    pub origin_fields: Option<StoredFields>,
    /// By which fields the page varies, where that was found out by asking for it.
    pub varies: Option<Vec<u8>>,
    /// The codings of a client that takes none of those that are made here.
    pub codings: Option<Box<OtherCodings>>,
    /// The refresh of the stale page that is served.
    pub refresh: Option<tokio::task::JoinHandle<()>>,
    /// Which zone a variable has chosen, where one does.
    pub chosen: Option<u16>,
    /// The piece that is asked for, where a place with `slice` was asked for `$slice_range`.
    pub slice: Cell<Option<Slice>>,
    /// What is told of the page.
    pub shown: Shown,
    /// How far the search for the page has come.
    pub journey: Journey,
}

impl CacheFacts {
    /// What the origin of a page for other codings alone is told instead of the client's `Accept-Encoding`.
    pub fn told_codings(&self) -> Option<&[u8]> {
        self.codings.as_ref().filter(|codings| codings.apart).map(|codings| &*codings.names)
    }

    /// For a copy of the request that is for the same page, of which nothing is known yet.
    pub(super) fn of_same_page(&self) -> Self {
        Self { key: self.key.clone(), chosen: self.chosen, slice: self.slice.clone(), ..Self::default() }
    }
}

/// What is told of a page in logs, fields and counters.
#[derive(Default)]
pub struct Shown {
    /// `$upstream_cache_status`.
    pub status: Option<CacheStatus>,
    /// `$upstream_cache_age`, seconds.
    pub age_s: Option<u64>,
    /// Why the page did not come from the cache, or the answer did not go there, in a few words (`$upstream_cache_reason`).
    pub reason: Option<&'static str>,
    /// What the origin says of [`Self::reason`], printable ASCII without quotation marks and backslashes.
    pub because: Option<Box<str>>,
    /// The answer is a page of the cache, or becomes one.
    pub stored: bool,
    /// The page was fetched for another request, which this one has waited for.
    pub collapsed: bool,
    /// How long the origin had taken to make the page that is served without it, milliseconds.
    pub spared_ms: u32,
    /// The zone that has set [`Self::status`], by its place in [`crate::runtime::Runtime::zone_list`].
    pub zone: u16,
}

impl Shown {
    /// The reason with what the origin says of it.
    pub fn whole_reason(&self) -> Option<Cow<'_, str>> {
        let reason = self.reason?;
        Some(match &self.because {
            None => reason.into(),
            Some(because) => format!("{reason}: {because}").into(),
        })
    }
}

/// How far the search for a page has come.
#[derive(Default)]
pub struct Journey {
    /// How often the page was waited for in vain.
    pub retries: u8,
    /// Only a page of the cache is of use, all of it: what is not stored is asked for by nobody but the fetch of such a page.
    pub stored_only: bool,
    /// Not even that: no origin is asked.
    pub fetches_nothing: bool,
    /// The origin's head at hand came with the page that this request itself has fetched here.
    pub fetched: bool,
    /// The file that the page was sought in.
    pub sought: Option<myriad_store::PageFile>,
    /// The open body of a page that lies on disk.
    pub opened: Option<myriad_store::BodyReader>,
}

/// Codings that only the origin may know, and what follows from them for the page.
pub struct OtherCodings {
    /// Their names, in one spelling.
    pub names: Box<[u8]>,
    /// Whether [`CacheFacts::key`] is that of pages for such clients alone.
    pub apart: bool,
    /// The generation of everybody's page: a page for such clients alone that is older no longer counts.
    pub younger_than: u64,
    /// That page, where this request has one of its own or fetches it.
    pub everybodys: Option<Page>,
}
