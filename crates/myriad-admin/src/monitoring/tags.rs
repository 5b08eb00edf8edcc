//! Response with the tags of stored pages.

use std::collections::HashMap;
use std::sync::Arc;

use crate::protocol::monitoring::{TagReport, TagsReport, TagsRequest};
use crate::protocol::{AdminReply, GlobPattern, ReplyEnd, escape_bytes};
use myriad_policy::{PurgeSubject, PurgeTarget};
use myriad_store::Cursor;
use myriad_store::page::PageZone;

use super::purges::limit;
use crate::admin::{Administrator, FoundPage, ReplyResult, ReplySink, pages_of_url};

/// Default and maximum value of `limit` in requests for cache tags.
const TAGS: (u64, u64) = (100, 1000);
/// Number of scanned pages after which a request for the tags of zones stops.
const MOST_PAGES: u64 = 200_000;
/// Maximum number of different tags that are counted; further tags make the result incomplete.
const MOST_TAGS: usize = 100_000;

impl Administrator {
    pub(crate) fn tags(&self, request: &TagsRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let most = limit(request.limit, TAGS)?;
        let zones = self.zones_named(request.zone.as_deref())?;
        let mut counting = TagCounter::new(request.matching.as_deref().map(GlobPattern::new));
        match &request.page {
            Some(url) => {
                let Some(PurgeTarget::Url { host, target }) = PurgeTarget::url(url.as_bytes()) else {
                    return Err(format!("\"{url}\" is not a URL of the form http://host/path?query"));
                };
                let url = PurgeSubject::new(b"", &host, &target);
                zones
                    .into_iter()
                    .flat_map(|zone| pages_of_url(zone, &url))
                    .for_each(|page| counting.add(&page));
            }
            None => zones.into_iter().for_each(|zone| counting.scan_zone(zone)),
        }
        tell(AdminReply::Tags(Box::new(counting.report(most))));
        Ok(ReplyEnd::default())
    }
}

struct TagCounter {
    pattern: Option<GlobPattern>,
    /// Number of pages and their total bytes, by tag.
    tags: HashMap<Box<[u8]>, (u64, u64)>,
    looked_at: u64,
    complete: bool,
}

impl TagCounter {
    fn new(pattern: Option<GlobPattern>) -> Self {
        Self { pattern, tags: HashMap::new(), looked_at: 0, complete: true }
    }

    fn scan_zone(&mut self, zone: &Arc<PageZone>) {
        let mut at = Some(Cursor::default());
        while let Some(cursor) = at {
            let (pages, next) = zone.zone.inspect(cursor);
            for page in pages {
                self.add(&FoundPage::Memory(page));
            }
            at = next.filter(|_| self.continues());
        }
        let mut slot = Some(0);
        while let Some(from) = slot.filter(|_| self.continues()) {
            let (pages, next) = zone.zone.inspect_disk(from);
            for page in pages {
                self.add(&FoundPage::Disk(Box::new(page)));
            }
            slot = next;
        }
    }

    fn continues(&mut self) -> bool {
        self.complete &= self.looked_at < MOST_PAGES;
        self.complete
    }

    fn add(&mut self, page: &FoundPage) {
        self.looked_at += 1;
        for tag in page.meta().marks().tags() {
            if self.pattern.as_ref().is_some_and(|pattern| !pattern.matches_text(tag)) {
                continue;
            }
            if self.tags.len() >= MOST_TAGS && !self.tags.contains_key(tag) {
                self.complete = false;
                continue;
            }
            let counted = self.tags.entry(tag.into()).or_default();
            counted.0 += 1;
            counted.1 += page.body_bytes();
        }
    }

    fn report(self, most: usize) -> TagsReport {
        let mut tags: Vec<_> = self.tags.into_iter().collect();
        tags.sort_by(|(tag, (pages, _)), (other, (more, _))| (more, tag).cmp(&(pages, other)));
        tags.truncate(most);
        let tags =
            tags.into_iter().map(|(tag, (pages, bytes))| TagReport { tag: escape_bytes(&tag), pages, bytes });
        TagsReport { tags: tags.collect(), looked_at: self.looked_at, complete: self.complete }
    }
}
