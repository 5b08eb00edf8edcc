//! Metadata of a page: its facts and joined texts.

use std::ops::Deref;

use crate::Object;
use myriad_policy::{EntityTag, Lifetime, PageHistory};

use crate::page::stored_duration::StoredDuration;
use crate::page::{PageMarks, ProxiedFacts, StoredLifetime, StoredProxiedFacts, TextEnds, TextParts, Texts};

/// Metadata of a page while it is not in the cache. In the cache, its texts are in the allocation of the page's object
/// ([`PageView`]).
#[derive(Clone)]
pub struct PageMeta {
    /// Metadata without the texts.
    pub facts: PageFacts,
    pub(super) texts: Box<[u8]>,
}

/// Metadata of a page, except texts.
#[derive(Clone)]
pub struct PageFacts {
    /// Status code of the response.
    pub status: u16,
    /// Offsets that delimit the joined texts of the page's metadata.
    pub ends: TextEnds,
    /// Entity tag of the page. Without an `ETag` of the origin, `None` while the body is still arriving and for a
    /// partial page (206) in memory.
    pub tag: Option<EntityTag>,
    /// `Last-Modified`, in seconds since the epoch; 0 if the texts have none.
    pub modified_s: u64,
    /// Set if the origin sent the page compressed: the page may then be sent compressed even with `gzip off`.
    pub origin_encoded: bool,
    /// Set if the page may not be transformed: it has `Cache-Control: no-transform`, or a content coding that was not
    /// removed.
    pub no_transform: bool,
    /// Freshness lifetime of the page and grace after it, with their source.
    pub stored_lifetime: StoredLifetime,
    /// Set if the page has `Location` or `Refresh`, and its protocol has a directive (`proxy_redirect`) that may
    /// rewrite them for each client.
    pub redirects: bool,
    /// Facts on which `gzip_proxied` depends.
    pub stored_proxied: StoredProxiedFacts,
    /// Time that the origin took to send the response head of the page; 0 if unknown.
    pub response_time: StoredDuration,
}

impl PageMeta {
    /// Creates metadata from facts and joined texts. `facts.ends` must belong to these texts.
    pub fn new(facts: PageFacts, texts: Box<[u8]>) -> Self {
        Self { facts, texts }
    }

    /// Returns the metadata with data about the ESI markup that was cut out of the page, which is known completely only
    /// once the page is complete.
    #[must_use]
    pub fn with_cut(&self, cut: &[u8]) -> Self {
        self.with_parts(TextParts { cut, ..self.view().texts().parts() })
    }

    /// Returns the metadata with the origin's field lines that are not sent to clients.
    #[must_use]
    pub fn with_unsent(&self, unsent: &[u8]) -> Self {
        self.with_parts(TextParts { unsent, ..self.view().texts().parts() })
    }

    /// Returns the metadata without `Last-Modified`, for a body that this server changed after the origin sent it.
    #[must_use]
    pub fn without_last_modified(&self) -> Self {
        let mut meta = self.with_parts(TextParts { last_modified: b"", ..self.view().texts().parts() });
        meta.facts.modified_s = 0;
        meta
    }

    /// Returns the metadata with the results of earlier renderings.
    #[must_use]
    pub fn with_history(&self, history: &PageHistory) -> Self {
        self.with_parts(TextParts { history: &history.encode(), ..self.view().texts().parts() })
    }

    fn with_parts(&self, parts: TextParts<'_>) -> Self {
        let mut facts = self.facts.clone();
        facts.ends = TextEnds::of(&parts);
        Self::new(facts, parts.join())
    }

    /// Returns a view of the metadata.
    pub fn view(&self) -> PageView<'_> {
        PageView { facts: &self.facts, texts: &self.texts }
    }
}

/// View of a page's metadata, whether the page is in the cache or not.
#[derive(Clone, Copy)]
pub struct PageView<'a> {
    /// Metadata except texts.
    pub facts: &'a PageFacts,
    pub(super) texts: &'a [u8],
}

impl Deref for PageView<'_> {
    type Target = PageFacts;

    fn deref(&self) -> &PageFacts {
        self.facts
    }
}

impl<'a> PageView<'a> {
    /// Returns a copy of the metadata that is independent of the cache.
    pub fn to_owned(self) -> PageMeta {
        PageMeta { facts: self.facts.clone(), texts: self.texts.into() }
    }

    /// Returns the texts of the page's metadata, such as its header field lines.
    pub fn texts(self) -> Texts<'a> {
        Texts::new(self.texts, self.facts.ends)
    }

    /// Returns the header field lines to send, except length, encoding, validators and fields that a location adds.
    pub fn lines(self) -> &'a [u8] {
        self.texts().lines()
    }

    /// Returns the media type without parameters, in lower case.
    pub fn media_type(self) -> &'a [u8] {
        self.texts().media_type()
    }

    /// Returns the reason phrase of the response; empty if it is the standard phrase of the status.
    pub fn reason(self) -> &'a str {
        self.texts().reason()
    }

    /// Returns `Last-Modified` as the origin sent it, and in seconds since the epoch; `None` if the page has none.
    pub fn last_modified(self) -> Option<(&'a [u8], u64)> {
        let text = self.texts().last_modified();
        (!text.is_empty()).then_some((text, self.facts.modified_s))
    }

    /// Returns the origin's field lines that are not sent, but read by `$upstream_http_*`; usually empty.
    pub fn unsent(self) -> &'a [u8] {
        self.texts().unsent()
    }

    /// Returns the data about the ESI markup that was cut out of the page ([`TextParts::cut`]); usually empty.
    pub fn cut(self) -> &'a [u8] {
        self.texts().cut()
    }

    /// Returns the results of earlier renderings of the page; `None` if none are stored.
    pub fn history(self) -> Option<PageHistory> {
        PageHistory::decode(self.texts().history())
    }

    /// Returns the time since which the content is known to be equal, in milliseconds since the epoch; `None` if no results of
    /// earlier renderings are stored.
    pub fn equal_since(self) -> Option<u64> {
        PageHistory::decode_equal_since(self.texts().history())
    }

    /// Returns a text that identifies the content of the page and `word`. It contains `word` and the time since which
    /// the content, except noise, has been equal. For a page without history (`*_cache_adaptive`), that time is
    /// `stored_at`, the time at which the page was stored, in milliseconds.
    pub fn version(self, stored_at: u64, word: &[u8]) -> String {
        let since = self.history().map_or(stored_at, |history| history.equal_since);
        format!("{since}-{}", String::from_utf8_lossy(word))
    }

    /// Returns the URL and tags by which purges find the page.
    pub fn marks(self) -> PageMarks<&'a [u8]> {
        self.texts().marks()
    }
}

impl PageFacts {
    /// Returns the freshness lifetime of the page and the grace after it, with their source.
    pub fn lifetime(&self) -> Lifetime {
        self.stored_lifetime.get()
    }

    /// Returns the facts on which `gzip_proxied` depends.
    pub fn proxied(&self) -> ProxiedFacts {
        self.stored_proxied.get()
    }
}

/// Page stored in a cache zone.
pub type Page = Object<PageMeta>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_stored_per_page_fit_in_80_bytes() {
        assert!(size_of::<PageFacts>() <= 80, "{} bytes", size_of::<PageFacts>());
    }
}
