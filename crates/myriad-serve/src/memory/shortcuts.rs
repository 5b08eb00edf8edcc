//! What the rules of the site came to for requests before, by the bytes that the rules read.

use std::cell::{Ref, RefCell};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use crate::runtime::{PlaceId, ServerId};

/// Slots of the table; a power of two.
const SLOTS: usize = 1024;

/// A table of ways; a newer one displaces what lies in its slot.
#[derive(Default)]
pub(crate) struct Shortcuts {
    hasher: RandomState,
    slots: RefCell<Vec<Slot>>,
}

#[derive(Default)]
struct Slot {
    hash: u64,
    read: Vec<u8>,
    until_ms: u64,
    way: Way,
}

/// Where a request came to, and as what.
#[derive(Default)]
pub(crate) struct Way {
    /// Its server.
    pub server: ServerId,
    /// Its place.
    pub place: PlaceId,
    /// The URI, after the rules.
    pub uri: Vec<u8>,
    /// The arguments.
    pub args: Vec<u8>,
    /// The host.
    pub host: Vec<u8>,
    /// The key of the page; empty for a file.
    pub key: Vec<u8>,
}

impl Shortcuts {
    /// The way of a request whose rules read these bytes, if that is still believed; `now_ms` since the epoch.
    pub(crate) fn find(&self, read: &[u8], now_ms: u64) -> Option<Ref<'_, Way>> {
        let hash = self.hasher.hash_one(read);
        let slots = self.slots.borrow();
        let slot = Ref::filter_map(slots, |slots| slots.get(hash as usize & (SLOTS - 1))).ok()?;
        if slot.hash != hash || now_ms >= slot.until_ms || slot.read != read {
            return None;
        }
        Some(Ref::map(slot, |slot| &slot.way))
    }

    /// Keeps a way until a time, ms since the epoch; `write` is given the buffers of what lay there before.
    pub(crate) fn keep(&self, read: &[u8], until_ms: u64, write: impl FnOnce(&mut Way)) {
        let hash = self.hasher.hash_one(read);
        let mut slots = self.slots.borrow_mut();
        if slots.is_empty() {
            slots.resize_with(SLOTS, Slot::default);
        }
        let slot = &mut slots[hash as usize & (SLOTS - 1)];
        slot.hash = hash;
        slot.until_ms = until_ms;
        slot.read.clear();
        slot.read.extend_from_slice(read);
        for buffer in [&mut slot.way.uri, &mut slot.way.args, &mut slot.way.host, &mut slot.way.key] {
            buffer.clear();
        }
        write(&mut slot.way);
    }
}
