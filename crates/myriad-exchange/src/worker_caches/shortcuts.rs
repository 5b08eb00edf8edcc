//! Routing results of earlier requests, by the bytes of the request that the routing rules have read.

use std::cell::{Ref, RefCell};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use myriad_base::bounded::DirectMapped;

use crate::runtime::{PlaceId, ServerId};

/// Table of routing results, of fixed size.
#[derive(Default)]
pub struct Shortcuts {
    hasher: RandomState,
    table: RefCell<DirectMapped<ShortcutSlot>>,
}

#[derive(Default)]
struct ShortcutSlot {
    read: Vec<u8>,
    until_ms: u64,
    route: ShortcutRoute,
}

/// Routing result of a request, which similar requests reuse.
#[derive(Default)]
pub struct ShortcutRoute {
    /// Virtual server that the routing has selected.
    pub server: ServerId,
    /// Location that the routing has selected.
    pub place: PlaceId,
    /// URI after rewrites.
    pub uri: Vec<u8>,
    /// Arguments after rewrites.
    pub args: Vec<u8>,
    /// Value of `$host`: the host in lower case without port, or the server's name if the request names no host.
    pub host: Vec<u8>,
    /// Cache key of the page; empty if the request found a file.
    pub key: Vec<u8>,
}

impl Shortcuts {
    /// Returns the routing result stored for the bytes `read`, which the routing rules read of a request; `None` if
    /// there is none or it is no longer valid. `now_ms` is in milliseconds of the process clock.
    pub fn find(&self, read: &[u8], now_ms: u64) -> Option<Ref<'_, ShortcutRoute>> {
        let hash = self.hasher.hash_one(read);
        let slot = Ref::filter_map(self.table.borrow(), |table| table.find(hash));
        let slot = slot.ok()?;
        if now_ms >= slot.until_ms || slot.read != read {
            return None;
        }
        Some(Ref::map(slot, |slot| &slot.route))
    }

    /// Stores a routing result that is valid until `until_ms`, in milliseconds of the process clock; `now_ms` is the
    /// current time. Does nothing if the result's slot in the table is occupied by another result that is not evicted.
    /// `write` fills the route, whose buffers are empty.
    pub fn store(&self, read: &[u8], now_ms: u64, until_ms: u64, write: impl FnOnce(&mut ShortcutRoute)) {
        let hash = self.hasher.hash_one(read);
        let mut table = self.table.borrow_mut();
        let Some(slot) = table.claim(hash, |slot| slot.until_ms <= now_ms) else { return };
        slot.until_ms = until_ms;
        slot.read.clear();
        slot.read.extend_from_slice(read);
        for buffer in [&mut slot.route.uri, &mut slot.route.args, &mut slot.route.host, &mut slot.route.key] {
            buffer.clear();
        }
        write(&mut slot.route);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(shortcuts: &Shortcuts, read: &[u8]) {
        shortcuts.store(read, 0, 100, |way| way.uri.extend_from_slice(read));
    }

    fn finds(shortcuts: &Shortcuts, read: &[u8], now_ms: u64) -> bool {
        shortcuts.find(read, now_ms).is_some_and(|way| way.uri == read)
    }

    #[test]
    fn shortcut_is_found_until_it_expires() {
        let shortcuts = Shortcuts::default();
        assert!(!finds(&shortcuts, b"/a", 0));
        keep(&shortcuts, b"/a");
        assert!(
            finds(&shortcuts, b"/a", 99) && !finds(&shortcuts, b"/a", 100) && !finds(&shortcuts, b"/b", 0)
        );
    }
}
