//! Worker cache by URI: locations, and results of `try_files`.
//!
//! Both depend only on the URI (the compiler of the configuration ensures it), and popular URIs are requested
//! repeatedly: one lookup replaces all regex locations and all file tests of a place. The size is fixed: a flood of new
//! URIs evicts entries and allocates no memory.

use std::cell::RefCell;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use myriad_base::bounded::DirectMapped;
use myriad_script::locations::Found;

use crate::runtime::{PlaceId, ServerId};

/// Maximum length of a cached URI, in bytes.
const LONGEST: usize = 256;

/// Cache of one worker for one configuration generation.
#[derive(Default)]
pub struct Memo {
    hasher: RandomState,
    routes: RefCell<Table<Found>>,
    files: RefCell<Table<Tried>>,
}

/// Result of `try_files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// Index of the existing candidate; `None` for the last parameter.
    pub candidate: Option<u32>,
    /// Time until which the result is valid, in milliseconds since the epoch.
    pub until_ms: u64,
}

type Table<V> = DirectMapped<Slot<V>>;

struct Slot<V> {
    scope: u32,
    uri: Vec<u8>,
    value: Option<V>,
}

impl<V> Default for Slot<V> {
    fn default() -> Self {
        Self { scope: 0, uri: Vec::new(), value: None }
    }
}

impl Memo {
    /// Returns the location of a URI on a server.
    pub fn route(&self, server: ServerId, uri: &[u8]) -> Option<Found> {
        self.find(&self.routes, server, uri)
    }

    /// Caches a location that depends on the URI only.
    pub fn keep_route(&self, server: ServerId, uri: &[u8], found: Found) {
        self.keep(&self.routes, server, uri, found);
    }

    /// Returns the result of a place's `try_files` for a URI, if it is still valid.
    pub fn tried(&self, place: PlaceId, uri: &[u8], now: u64) -> Option<Tried> {
        self.find(&self.files, place, uri).filter(|tried| now < tried.until_ms)
    }

    /// Caches a result of `try_files`.
    pub fn keep_tried(&self, place: PlaceId, uri: &[u8], tried: Tried) {
        self.keep(&self.files, place, uri, tried);
    }

    fn find<V: Copy>(&self, table: &RefCell<Table<V>>, scope: u32, uri: &[u8]) -> Option<V> {
        let table = table.borrow();
        let slot = table.find(self.hasher.hash_one((scope, uri)))?;
        (slot.scope == scope && slot.uri == uri).then_some(slot.value).flatten()
    }

    fn keep<V: Copy>(&self, table: &RefCell<Table<V>>, scope: u32, uri: &[u8], value: V) {
        if uri.len() > LONGEST {
            return;
        }
        let mut table = table.borrow_mut();
        let Some(slot) = table.claim(self.hasher.hash_one((scope, uri)), |_| false) else { return };
        slot.scope = scope;
        slot.uri.clear();
        slot.uri.extend_from_slice(uri);
        slot.value = Some(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_remembered_for_their_own_scope_and_time() {
        let memo = Memo::default();
        memo.keep_route(1, b"/a", Found::Place(7));
        assert_eq!(memo.route(1, b"/a"), Some(Found::Place(7)));
        assert_eq!(memo.route(2, b"/a"), None);
        assert_eq!(memo.route(1, b"/b"), None);
        memo.keep_tried(1, b"/a", Tried { candidate: None, until_ms: 10 });
        assert!(memo.tried(1, b"/a", 9).is_some());
        assert!(memo.tried(1, b"/a", 10).is_none());
    }

    #[test]
    fn a_flood_of_uris_displaces_and_never_confuses() {
        let memo = Memo::default();
        for number in 0..20_000u32 {
            memo.keep_route(0, format!("/{number}").as_bytes(), Found::Place(number));
        }
        for number in 0..20_000u32 {
            let found = memo.route(0, format!("/{number}").as_bytes());
            assert!(found.is_none_or(|found| found == Found::Place(number)));
        }
    }
}
