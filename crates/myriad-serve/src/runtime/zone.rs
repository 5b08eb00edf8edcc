//! Cache zones with pages in them.

use myriad_encode::Coding;
use myriad_policy::EntityTag;
use myriad_store::{Alternative, Metadata, Object, Zone};

/// What is kept with a stored page.
#[derive(Clone)]
pub(crate) struct PageMeta {
    /// The status.
    pub status: u16,
    /// The reason phrase, where it is not the usual one.
    pub reason: Box<str>,
    /// Field lines ready to send: all but length, encoding, validators and what a place adds.
    pub lines: Box<[u8]>,
    /// Media type without parameters, lower case, for `gzip_types`.
    pub media_type: Box<[u8]>,
    /// The page's tag; none while its bytes are still arriving and the origin sent none.
    pub tag: Option<EntityTag>,
    /// `Last-Modified` as sent, and in seconds.
    pub last_modified: Option<(Box<[u8]>, u64)>,
    /// Whether the origin itself compressed: then it may be compressed for others, whatever `gzip` says.
    pub origin_encoded: bool,
    /// `Cache-Control: no-transform`.
    pub no_transform: bool,
    /// Validity in milliseconds, stale windows, who gave them.
    pub lifetime: myriad_policy::Lifetime,
    /// Whether there is a `Location` or `Refresh` that `proxy_redirect` may rewrite for each visitor.
    pub redirects: bool,
    /// `Expires`, `no-cache` and the like, as `gzip_proxied` asks.
    pub proxied: ProxiedFacts,
}

/// What `gzip_proxied` wants to know of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProxiedFacts {
    /// `Expires` in the past.
    pub expired: Option<bool>,
    /// It has `Cache-Control`.
    pub has_cache_control: bool,
    /// `Cache-Control: no-cache`.
    pub no_cache: bool,
    /// `Cache-Control: no-store`.
    pub no_store: bool,
    /// `Cache-Control: private`.
    pub private: bool,
    /// There is a `Last-Modified`.
    pub has_last_modified: bool,
    /// There is an `ETag`.
    pub has_etag: bool,
}

impl Metadata for PageMeta {
    /// The level that made the encoding.
    type Alternative = u8;

    fn weight(&self) -> usize {
        self.lines.len()
            + self.reason.len()
            + self.media_type.len()
            + self.last_modified.as_ref().map_or(0, |(text, _)| text.len())
    }
}

/// A stored page.
pub(crate) type Page = Object<PageMeta>;

/// A zone of pages.
pub(crate) struct PageZone {
    /// The store.
    pub zone: Zone<PageMeta>,
}

/// The index of an encoding among a page's alternatives.
pub(crate) fn slot(coding: Coding) -> u8 {
    match coding {
        Coding::Identity | Coding::Gzip => 0,
        Coding::Brotli => 1,
        Coding::Zstd => 2,
    }
}

/// The index of gzip at its strong level, beside the fast one that was made when the page was stored.
pub(crate) const STRONG_GZIP: u8 = 3;

/// The best alternative of a page in a coding.
pub(crate) fn alternative(page: &Page, coding: Coding) -> Option<&Alternative<u8>> {
    match coding {
        Coding::Identity => None,
        Coding::Gzip => page.alternative(STRONG_GZIP).or_else(|| page.alternative(slot(coding))),
        coding => page.alternative(slot(coding)),
    }
}
