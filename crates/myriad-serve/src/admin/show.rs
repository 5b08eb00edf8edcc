//! One page, by its key.

use myriad_admin::{Ended, PageRequest, Reply, from_shown};
use myriad_store::KeyRef;

use super::describe::Found;
use super::{Administrator, End, Tell};
use crate::runtime::{PageZone, system_ms};

impl Administrator {
    pub(super) fn show(&self, request: &PageRequest, tell: &mut Tell<'_>) -> End {
        let now_ms = system_ms();
        for zone in self.named(request.zone.as_deref())? {
            for found in under_key(zone, &from_shown(&request.page)) {
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
