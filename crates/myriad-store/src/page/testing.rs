//! Construction of pages without an origin, for tests.

use myriad_policy::{EntityTag, Lifetime, Tags, ValiditySource};

use crate::page::{PageFacts, PageMarks, PageMeta, ProxiedFacts, StoredDuration, TextEnds, TextParts};

/// Properties of a page to be constructed.
#[derive(Clone, Debug)]
pub struct PageSpec<'a> {
    /// Status of the response.
    pub status: u16,
    /// Host in the URL of the page.
    pub host: &'a str,
    /// Path and query in the URL of the page.
    pub target: &'a str,
    /// Tags of the page.
    pub tags: Tags,
    /// Value of `Last-Modified`; empty for none.
    pub last_modified: &'a str,
    /// Entity tag of the page.
    pub tag: Option<EntityTag>,
    /// Time until which the page is fresh, in milliseconds. It has no grace.
    pub fresh_until: u64,
}

impl Default for PageSpec<'_> {
    fn default() -> Self {
        Self {
            status: 200,
            host: "a.test",
            target: "/a?b",
            tags: Tags::parse(b"news post-1"),
            last_modified: "",
            tag: None,
            fresh_until: 2000,
        }
    }
}

impl PageSpec<'_> {
    /// Returns the metadata of such a page.
    #[must_use]
    pub fn meta(&self) -> PageMeta {
        let marks = PageMarks::new("http", self.host.as_bytes(), self.target.as_bytes(), &self.tags);
        let parts = TextParts {
            lines: b"X-A: b\r\n",
            marks: marks.borrowed(),
            media_type: b"text/html",
            last_modified: self.last_modified.as_bytes(),
            reason: "",
            unsent: b"",
            cut: b"",
            history: b"",
        };
        let lifetime = Lifetime {
            fresh_until: self.fresh_until,
            stale_updating_until: self.fresh_until,
            stale_error_until: self.fresh_until,
            must_revalidate: false,
            valid_ms: 1000,
            source: ValiditySource::Heuristic,
            born: None,
        };
        let facts = PageFacts {
            status: self.status,
            ends: TextEnds::of(&parts),
            tag: self.tag.clone(),
            modified_s: 0,
            origin_encoded: false,
            no_transform: false,
            redirects: false,
            stored_lifetime: lifetime.into(),
            stored_proxied: ProxiedFacts::default().into(),
            response_time: StoredDuration::default(),
        };
        PageMeta::new(facts, parts.join())
    }
}
