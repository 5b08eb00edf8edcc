//! What a worker remembers of URIs: their location, and what `try_files` found.
//!
//! Both depend on nothing but the URI (the compiler of the configuration sees to it), and popular URIs come again and
//! again: one look-up here stands for every regex location and every file test of a place. Fixed in size: a flood of
//! new URIs displaces, never grows.

use std::cell::RefCell;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use myriad_bounded::DirectMapped;
use myriad_script::locations::Found;

use crate::runtime::{PlaceId, ServerId};

/// Longer URIs are not remembered.
const LONGEST: usize = 256;

/// What one worker remembers, for one generation of the site.
#[derive(Default)]
pub struct Memo {
    hasher: RandomState,
    routes: RefCell<Table<Found>>,
    files: RefCell<Table<Tried>>,
}

/// What `try_files` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The candidate that is there; none for the last word.
    pub candidate: Option<u32>,
    /// Until when that is believed, milliseconds since the epoch.
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
    /// The location of a URI on a server.
    pub fn route(&self, server: ServerId, uri: &[u8]) -> Option<Found> {
        self.find(&self.routes, server, uri)
    }

    /// Remembers a location that depends on the URI alone.
    pub fn keep_route(&self, server: ServerId, uri: &[u8], found: Found) {
        self.keep(&self.routes, server, uri, found);
    }

    /// What `try_files` of a place found for a URI, if that is still believed.
    pub fn tried(&self, place: PlaceId, uri: &[u8], now: u64) -> Option<Tried> {
        self.find(&self.files, place, uri).filter(|tried| now < tried.until_ms)
    }

    /// Remembers what `try_files` found.
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
