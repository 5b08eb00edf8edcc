//! Completion of a page: it is stored with its entity tag and its compressed encodings.

use myriad_policy::{CacheStatus, EntityTag};
use myriad_store::{BodyWriter, Completed, Completion};

use crate::page;
use myriad_exchange::exchange::Exchange;
use myriad_store::page::{Page, PageMeta, PageZone};

/// Completes a page like [`complete_at`], with the current time as the time at which the page counts as stored.
pub(crate) fn complete(
    exchange: &Exchange,
    zone: &PageZone,
    writer: BodyWriter<PageMeta>,
    meta: PageMeta,
) -> Option<Page> {
    complete_at(exchange, zone, writer, meta, myriad_net::clock::now_ms())
}

/// Completes the cache entry of a page whose body was written to the zone, and updates the zone's counters if the page
/// is stored in memory or will be stored on disk. A body in memory is compressed if it may be sent compressed, unless
/// it equals the body of the replaced page: then the encodings of the replaced page are copied. A page without the
/// origin's entity tag gets a generated one, except with status 206 in memory. `stored_at` is the time at which the
/// page counts as stored, in milliseconds since the epoch. Returns the page, unless it was not stored or is only on
/// disk.
pub(crate) fn complete_at(
    exchange: &Exchange,
    zone: &PageZone,
    mut writer: BodyWriter<PageMeta>,
    mut meta: PageMeta,
    stored_at: u64,
) -> Option<Page> {
    let body = writer.body();
    let alternatives = match (&body, body.as_ref().and_then(|_| writer.unchanged())) {
        (None, _) => {
            meta.facts.tag = meta.facts.tag.or_else(|| writer.spilled().map(EntityTag::generated));
            [const { None }; myriad_store::ALTERNATIVES]
        }
        (Some(_), Some(previous)) => page::alternatives_of(&previous),
        (Some(body), None) => page::first_encodings(exchange, meta.view(), body),
    };
    if let Some(body) = &body
        && meta.facts.tag.is_none()
        && meta.facts.status != 206
    {
        meta.facts.tag = Some(page::tag_of(body));
    }
    let (status, length) =
        (if writer.replaces() { CacheStatus::Expired } else { CacheStatus::Miss }, writer.length());
    let fresh_until = meta.facts.lifetime().fresh_until;
    let completed = writer.complete(Completion { meta, now: stored_at, fresh_until, alternatives });
    if !matches!(completed, Completed::Unstored(_)) {
        zone.counts.add_written(exchange.request.site.worker.number, status, length);
    }
    if let Completed::Stored(page) = completed { Some(page) } else { None }
}
