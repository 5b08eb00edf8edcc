//! Listing of stored pages in batches.

use std::sync::Arc;

use crate::protocol::{AdminReply, GlobPattern, PagesRequest, ReplyEnd, escape_bytes, without_values};
use myriad_base::digits::decimal;
use myriad_store::Cursor;

use super::administrator::{Administrator, ReplyResult, ReplySink};
use super::describe::FoundPage;
use myriad_store::page::PageZone;

/// Continuation position of a list of pages. Its text is `ZONE:m:SHARD:SLOT:SKIPPED` in memory or `ZONE:d:SLOT:SKIPPED`
/// on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ListPosition {
    zone: usize,
    at: TierCursor,
    /// Number of pages of the batch at this position that an earlier response has already examined.
    skip: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TierCursor {
    Memory(Cursor),
    Disk(u32),
}

impl Administrator {
    pub(super) fn list(&self, request: &PagesRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        request.check().map_err(|error| error.to_string())?;
        let zones = self.zones_named(request.zone.as_deref())?;
        let mut position = match &request.after {
            Some(text) => ListPosition::parse(text, &zones)
                .ok_or("\"after\" must be the \"next\" value of an earlier response")?,
            None => ListPosition::FIRST,
        };
        let filter = PageFilter::new(request, self.hides_values);
        let mut left = request.limit.unwrap_or(u64::MAX);
        let (mut batches, now_ms) = (0, myriad_net::clock::now_ms());
        while let Some(zone) = zones.get(position.zone) {
            if batches >= self.max_batches {
                return Ok(ReplyEnd { next: Some(position.text(&zones)) });
            }
            batches += 1;
            let (batch, next) = position.batch(zone);
            for (index, found) in batch.into_iter().enumerate().skip(position.skip) {
                if !filter.matches_page(&found) {
                    continue;
                }
                if left == 0 {
                    return Ok(ReplyEnd {
                        next: Some(ListPosition { skip: index, ..position }.text(&zones)),
                    });
                }
                left -= 1;
                if !tell(AdminReply::Page(Box::new(found.report(zone, now_ms)))) {
                    return Ok(ReplyEnd::default());
                }
            }
            position = next;
        }
        Ok(ReplyEnd::default())
    }
}

/// Filter of a list of pages, by host and by a pattern for URLs or cache keys.
struct PageFilter {
    host: Option<String>,
    pattern: Option<GlobPattern>,
    /// True if the pattern is matched against URLs and keys whose argument values are hidden: otherwise a client could
    /// guess the values by trying patterns.
    hides_values: bool,
}

impl PageFilter {
    fn new(request: &PagesRequest, hides_values: bool) -> Self {
        Self {
            host: request.host.as_deref().map(str::to_ascii_lowercase),
            pattern: request.matching.as_deref().map(GlobPattern::new),
            hides_values,
        }
    }

    fn matches_page(&self, found: &FoundPage) -> bool {
        self.host.as_ref().is_none_or(|host| *host.as_bytes() == *found.meta().marks().host())
            && self.pattern.as_ref().is_none_or(|pattern| {
                let texts = [found.url(), found.url_of_any_port(), escape_bytes(found.key()).into_bytes()];
                texts.iter().any(|text| {
                    if self.hides_values {
                        pattern.matches_text(without_values(&String::from_utf8_lossy(text)).as_bytes())
                    } else {
                        pattern.matches_text(text)
                    }
                })
            })
    }
}

impl ListPosition {
    const FIRST: Self = Self { zone: 0, at: TierCursor::Memory(Cursor { shard: 0, slot: 0 }), skip: 0 };

    /// Returns the batch of pages at this position, and the next position.
    fn batch(self, zone: &PageZone) -> (Vec<FoundPage>, Self) {
        let go_on = |at| Self { at, skip: 0, ..self };
        match self.at {
            TierCursor::Memory(cursor) => {
                let (pages, next) = zone.zone.inspect(cursor);
                let next = next.map_or(TierCursor::Disk(0), TierCursor::Memory);
                (pages.into_iter().map(FoundPage::Memory).collect(), go_on(next))
            }
            TierCursor::Disk(slot) => {
                let (pages, next) = zone.zone.inspect_disk(slot);
                let next = match next {
                    Some(slot) => go_on(TierCursor::Disk(slot)),
                    None => Self { zone: self.zone + 1, ..Self::FIRST },
                };
                (pages.into_iter().map(|page| FoundPage::Disk(Box::new(page))).collect(), next)
            }
        }
    }

    fn text(self, zones: &[&Arc<PageZone>]) -> String {
        let zone = zones.get(self.zone).map_or("", |zone| zone.zone.name());
        match self.at {
            TierCursor::Memory(Cursor { shard, slot }) => format!("{zone}:m:{shard}:{slot}:{}", self.skip),
            TierCursor::Disk(slot) => format!("{zone}:d:{slot}:{}", self.skip),
        }
    }

    fn parse(text: &str, zones: &[&Arc<PageZone>]) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (at, skip) = match parts[1..] {
            ["m", shard, slot, skip] => {
                (TierCursor::Memory(Cursor { shard: decimal(shard)?, slot: decimal(slot)? }), skip)
            }
            ["d", slot, skip] => (TierCursor::Disk(decimal(slot)?), skip),
            _ => return None,
        };
        let zone = zones.iter().position(|zone| zone.zone.name() == parts[0])?;
        Some(Self { zone, at, skip: decimal(skip)? })
    }
}
