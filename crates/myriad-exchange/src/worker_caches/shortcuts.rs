//! Results of the site's rules for previous requests, by the bytes that the rules read.

use std::cell::{Ref, RefCell};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use myriad_base::bounded::DirectMapped;

use crate::runtime::{PlaceId, ServerId};

/// Table of routing results.
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

/// Routing result of a request.
#[derive(Default)]
pub struct ShortcutRoute {
    /// Server.
    pub server: ServerId,
    /// Place.
    pub place: PlaceId,
    /// URI after the rules.
    pub uri: Vec<u8>,
    /// Arguments after the rules.
    pub args: Vec<u8>,
    /// Host.
    pub host: Vec<u8>,
    /// Cache key of the page; empty for a file.
    pub key: Vec<u8>,
}

impl Shortcuts {
    /// Returns the result for a request whose rules read these bytes, if it is still valid. `now_ms` is in milliseconds
    /// since the epoch.
    pub fn find(&self, read: &[u8], now_ms: u64) -> Option<Ref<'_, ShortcutRoute>> {
        let hash = self.hasher.hash_one(read);
        let slot = Ref::filter_map(self.table.borrow(), |table| table.find(hash));
        let slot = slot.ok()?;
        if now_ms >= slot.until_ms || slot.read != read {
            return None;
        }
        Some(Ref::map(slot, |slot| &slot.route))
    }

    /// Stores a result from `now_ms` until `until_ms`, in milliseconds since the epoch, if it gets a slot. `write`
    /// fills the cleared buffers of the previous entry.
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
