//! One page, by its URL or its key.

use myriad_admin::{Ended, PageRequest, Reply, from_shown};
use myriad_policy::{Subject, What};
use myriad_store::KeyRef;

use super::describe::Found;
use super::{Administrator, End, Tell};
use crate::runtime::{PageZone, system_ms};

impl Administrator {
    pub(super) fn show(&self, request: &PageRequest, tell: &mut Tell<'_>) -> End {
        let now_ms = system_ms();
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

/// All variants of a key.
fn under_key(zone: &PageZone, key: &[u8]) -> Vec<Found> {
    let key = KeyRef::new(key);
    let in_memory = zone.zone.peek(key).into_iter().map(Found::Memory);
    in_memory.chain(zone.zone.peek_disk(key).into_iter().map(|page| Found::Disk(Box::new(page)))).collect()
}

/// All that was fetched for a URL: its pages in memory are found by their label, and tell the keys of those on disk. Where
/// memory has none, every file is looked at.
fn of_url(zone: &PageZone, url: &Subject<'_>) -> Vec<Found> {
    let is_it = |found: &Found| found.meta().marks().subject().address() == url.address();
    let label = url.wanted_label();
    let mut found: Vec<Found> = zone.zone.labelled(label).into_iter().map(Found::Memory).collect();
    found.retain(is_it);
    let mut keys: Vec<Vec<u8>> = found.iter().map(|found| found.key().to_vec()).collect();
    keys.sort();
    keys.dedup();
    for key in &keys {
        let on_disk = zone.zone.peek_disk(KeyRef::new(key)).into_iter();
        found.extend(on_disk.map(|page| Found::Disk(Box::new(page))).filter(is_it));
    }
    let mut slot = Some(0).filter(|_| keys.is_empty());
    while let Some(at) = slot {
        let (pages, next) = zone.zone.inspect_disk(at);
        found.extend(pages.into_iter().map(|page| Found::Disk(Box::new(page))).filter(is_it));
        slot = next;
    }
    found
}
