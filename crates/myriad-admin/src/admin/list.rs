//! Listing of stored pages in batches.

use std::sync::Arc;

use crate::protocol::{Ended, PagesRequest, Pattern, Reply, shown, without_values};
use myriad_store::Cursor;

use super::administrator::{Administrator, End, Tell};
use super::describe::Found;
use myriad_store::page::PageZone;

/// Continuation position of a list: `ZONE:m:SHARD:SLOT:SKIPPED` or `ZONE:d:SLOT:SKIPPED` as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    zone: usize,
    at: At,
    /// Pages of the batch that were returned before.
    skip: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Memory(Cursor),
    Disk(u32),
}

impl Administrator {
    pub(super) fn list(&self, request: &PagesRequest, tell: &mut Tell<'_>) -> End {
        request.check().map_err(|error| error.to_string())?;
        let zones = self.named(request.zone.as_deref())?;
        let mut position = match &request.after {
            Some(text) => Position::parse(text, &zones)
                .ok_or("\"after\" must be the \"next\" value of an earlier response")?,
            None => Position::FIRST,
        };
        let filter = Filter::new(request, self.hides_values);
        let mut left = request.limit.unwrap_or(u64::MAX);
        let (mut batches, now_ms) = (0, myriad_net::clock::now_ms());
        while let Some(zone) = zones.get(position.zone) {
            if batches >= self.patience {
                return Ok(Ended { next: Some(position.text(&zones)) });
            }
            batches += 1;
            let (batch, next) = position.batch(zone);
            for (index, found) in batch.into_iter().enumerate().skip(position.skip) {
                if !filter.fits(&found) {
                    continue;
                }
                if left == 0 {
                    return Ok(Ended { next: Some(Position { skip: index, ..position }.text(&zones)) });
                }
                left -= 1;
                if !tell(Reply::Page(Box::new(found.report(zone, now_ms)))) {
                    return Ok(Ended::default());
                }
            }
            position = next;
        }
        Ok(Ended::default())
    }
}

/// Selection of pages.
struct Filter {
    host: Option<String>,
    pattern: Option<Pattern>,
    /// Set if the pattern is matched against URLs and keys without values: otherwise it could be used to guess them.
    hides_values: bool,
}

impl Filter {
    fn new(request: &PagesRequest, hides_values: bool) -> Self {
        Self {
            host: request.host.as_deref().map(str::to_ascii_lowercase),
            pattern: request.matching.as_deref().map(Pattern::new),
            hides_values,
        }
    }

    fn fits(&self, found: &Found) -> bool {
        self.host.as_ref().is_none_or(|host| *host.as_bytes() == *found.meta().marks().host())
            && self.pattern.as_ref().is_none_or(|pattern| {
                let texts = [found.url(), found.url_of_any_port(), shown(found.key()).into_bytes()];
                texts.iter().any(|text| {
                    if self.hides_values {
                        pattern.fits(without_values(&String::from_utf8_lossy(text)).as_bytes())
                    } else {
                        pattern.fits(text)
                    }
                })
            })
    }
}

impl Position {
    const FIRST: Self = Self { zone: 0, at: At::Memory(Cursor { shard: 0, slot: 0 }), skip: 0 };

    /// Returns the pages at this position, and the next position.
    fn batch(self, zone: &PageZone) -> (Vec<Found>, Self) {
        let go_on = |at| Self { at, skip: 0, ..self };
        match self.at {
            At::Memory(cursor) => {
                let (pages, next) = zone.zone.inspect(cursor);
                let next = next.map_or(At::Disk(0), At::Memory);
                (pages.into_iter().map(Found::Memory).collect(), go_on(next))
            }
            At::Disk(slot) => {
                let (pages, next) = zone.zone.inspect_disk(slot);
                let next = match next {
                    Some(slot) => go_on(At::Disk(slot)),
                    None => Self { zone: self.zone + 1, ..Self::FIRST },
                };
                (pages.into_iter().map(|page| Found::Disk(Box::new(page))).collect(), next)
            }
        }
    }

    fn text(self, zones: &[&Arc<PageZone>]) -> String {
        let zone = zones.get(self.zone).map_or("", |zone| zone.zone.name());
        match self.at {
            At::Memory(Cursor { shard, slot }) => format!("{zone}:m:{shard}:{slot}:{}", self.skip),
            At::Disk(slot) => format!("{zone}:d:{slot}:{}", self.skip),
        }
    }

    fn parse(text: &str, zones: &[&Arc<PageZone>]) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (at, skip) = match parts[1..] {
            ["m", shard, slot, skip] => {
                (At::Memory(Cursor { shard: shard.parse().ok()?, slot: slot.parse().ok()? }), skip)
            }
            ["d", slot, skip] => (At::Disk(slot.parse().ok()?), skip),
            _ => return None,
        };
        let zone = zones.iter().position(|zone| zone.zone.name() == parts[0])?;
        Some(Self { zone, at, skip: skip.parse().ok()? })
    }
}
