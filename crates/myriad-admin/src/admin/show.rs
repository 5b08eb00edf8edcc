//! Lookup of a page by its URL or its key.

use crate::protocol::{AdminReply, PageRequest, ReplyEnd, unescape_bytes};
use myriad_policy::{PurgeSubject, PurgeTarget};
use myriad_store::KeyRef;

use super::administrator::{Administrator, ReplyResult, ReplySink};
use super::describe::FoundPage;
use myriad_store::page::PageZone;

impl Administrator {
    pub(super) fn show(&self, request: &PageRequest, tell: &mut ReplySink<'_>) -> ReplyResult {
        let now_ms = myriad_net::clock::now_ms();
        for zone in self.zones_named(request.zone.as_deref())? {
            let mut found = pages_of_key(zone, &unescape_bytes(&request.page));
            if found.is_empty()
                && let Some(PurgeTarget::Url { host, target }) = PurgeTarget::url(request.page.as_bytes())
            {
                found = pages_of_url(zone, &PurgeSubject::new(b"", &host, &target));
            }
            for found in found {
                let mut report = found.report(zone, now_ms);
                if let Some(esi) = report.esi.as_mut().filter(|_| request.body) {
                    esi.body = found.body_without_noise();
                }
                if !tell(AdminReply::Page(Box::new(report))) {
                    return Ok(ReplyEnd::default());
                }
            }
        }
        Ok(ReplyEnd::default())
    }
}

/// Returns all pages stored under a cache key (its variants), in memory and on disk.
fn pages_of_key(zone: &PageZone, key: &[u8]) -> Vec<FoundPage> {
    let key = KeyRef::new(key);
    let in_memory = zone.zone.peek(key).into_iter().map(FoundPage::Memory);
    in_memory
        .chain(zone.zone.peek_disk(key).into_iter().map(|page| FoundPage::Disk(Box::new(page))))
        .collect()
}

/// Returns all pages that were fetched for a URL, in memory and on disk.
pub(crate) fn pages_of_url(zone: &PageZone, url: &PurgeSubject<'_>) -> Vec<FoundPage> {
    let label = url.label_to_purge();
    let in_memory = zone.zone.objects_with_label(label).into_iter().map(FoundPage::Memory);
    let on_disk =
        zone.zone.disk_pages_with_label(label).into_iter().map(|page| FoundPage::Disk(Box::new(page)));
    // The label of a path is shared by all query strings, so other pages must be excluded.
    in_memory
        .chain(on_disk)
        .filter(|found| found.meta().marks().subject().address() == url.address())
        .collect()
}
