//! Lookup of a page by its URL or its key.

use crate::protocol::{Ended, PageRequest, Reply, from_shown};
use myriad_policy::{Subject, What};
use myriad_store::KeyRef;

use super::administrator::{Administrator, End, Tell};
use super::describe::Found;
use myriad_store::page::PageZone;

impl Administrator {
    pub(super) fn show(&self, request: &PageRequest, tell: &mut Tell<'_>) -> End {
        let now_ms = myriad_net::clock::now_ms();
        for zone in self.named(request.zone.as_deref())? {
            let mut found = under_key(zone, &from_shown(&request.page));
            if found.is_empty()
                && let Some(What::Url { host, target }) = What::url(request.page.as_bytes())
            {
                found = of_url(zone, &Subject::new(b"", &host, &target));
            }
            for found in found {
                if !tell(Reply::Page(Box::new(found.report(zone, now_ms)))) {
                    return Ok(Ended::default());
                }
            }
        }
        Ok(Ended::default())
    }
}

/// Returns all variants of a key.
fn under_key(zone: &PageZone, key: &[u8]) -> Vec<Found> {
    let key = KeyRef::new(key);
    let in_memory = zone.zone.peek(key).into_iter().map(Found::Memory);
    in_memory.chain(zone.zone.peek_disk(key).into_iter().map(|page| Found::Disk(Box::new(page)))).collect()
}

/// Returns all pages fetched for a URL, found by its label in memory and on disk.
pub(crate) fn of_url(zone: &PageZone, url: &Subject<'_>) -> Vec<Found> {
    let label = url.wanted_label();
    let in_memory = zone.zone.labelled(label).into_iter().map(Found::Memory);
    let on_disk = zone.zone.labelled_on_disk(label).into_iter().map(|page| Found::Disk(Box::new(page)));
    // The label of a path is shared by all its queries, which are other pages.
    in_memory
        .chain(on_disk)
        .filter(|found| found.meta().marks().subject().address() == url.address())
        .collect()
}
