//! Cache of a worker by URI: matching locations, and results of `try_files`.
//!
//! Both are cached only if they depend on nothing but the URI. Popular URIs are requested repeatedly, and one look-up
//! replaces all regular expression locations and all file checks. The number of entries is fixed, so that a flood of
//! new URIs cannot exhaust memory.

use std::cell::RefCell;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use myriad_base::bounded::DirectMapped;
use myriad_script::locations::LocationMatch;

use crate::runtime::{PlaceId, ServerId};

/// Maximum length of a URI that is cached, in bytes.
const MAX_URI_LEN: usize = 256;

/// Cache by URI of one worker for one configuration: locations, and results of `try_files`.
#[derive(Default)]
pub struct UriCache {
    hasher: RandomState,
    routes: RefCell<UriTable<LocationMatch>>,
    files: RefCell<UriTable<TryFilesResult>>,
}

/// Result of `try_files`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryFilesResult {
    /// Index of the candidate that exists; `None` if none does, so that the last parameter applies.
    pub candidate: Option<u32>,
    /// Time until which the result is valid, in milliseconds of the process clock.
    pub until_ms: u64,
}

type UriTable<V> = DirectMapped<UriSlot<V>>;

struct UriSlot<V> {
    scope: u32,
    uri: Vec<u8>,
    value: Option<V>,
}

impl<V> Default for UriSlot<V> {
    fn default() -> Self {
        Self { scope: 0, uri: Vec::new(), value: None }
    }
}

impl UriCache {
    /// Returns the cached location of a URI on a server; `None` if it is not cached.
    pub fn route(&self, server: ServerId, uri: &[u8]) -> Option<LocationMatch> {
        self.find(&self.routes, server, uri)
    }

    /// Caches the location of a URI, which must not depend on anything else. Does nothing if the URI is longer than
    /// [`MAX_URI_LEN`], or if the table retains another URI in its slot.
    pub fn store_route(&self, server: ServerId, uri: &[u8], found: LocationMatch) {
        self.store(&self.routes, server, uri, found);
    }

    /// Returns the cached result of a location's `try_files` for a URI; `None` if it is not cached or not valid at
    /// `now`, in milliseconds of the process clock.
    pub fn try_files_result(&self, place: PlaceId, uri: &[u8], now: u64) -> Option<TryFilesResult> {
        self.find(&self.files, place, uri).filter(|tried| now < tried.until_ms)
    }

    /// Caches the result of a location's `try_files` for a URI. Does nothing if the URI is longer than [`MAX_URI_LEN`],
    /// or if the table retains another URI in its slot.
    pub fn store_try_files_result(&self, place: PlaceId, uri: &[u8], tried: TryFilesResult) {
        self.store(&self.files, place, uri, tried);
    }

    fn find<V: Copy>(&self, table: &RefCell<UriTable<V>>, scope: u32, uri: &[u8]) -> Option<V> {
        let table = table.borrow();
        let slot = table.find(self.hasher.hash_one((scope, uri)))?;
        (slot.scope == scope && slot.uri == uri).then_some(slot.value).flatten()
    }

    fn store<V: Copy>(&self, table: &RefCell<UriTable<V>>, scope: u32, uri: &[u8], value: V) {
        if uri.len() > MAX_URI_LEN {
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
        let memo = UriCache::default();
        memo.store_route(1, b"/a", LocationMatch::Place(7));
        assert_eq!(memo.route(1, b"/a"), Some(LocationMatch::Place(7)));
        assert_eq!(memo.route(2, b"/a"), None);
        assert_eq!(memo.route(1, b"/b"), None);
        memo.store_try_files_result(1, b"/a", TryFilesResult { candidate: None, until_ms: 10 });
        assert!(memo.try_files_result(1, b"/a", 9).is_some());
        assert!(memo.try_files_result(1, b"/a", 10).is_none());
    }

    #[test]
    fn a_flood_of_uris_displaces_and_never_confuses() {
        let memo = UriCache::default();
        for number in 0..20_000u32 {
            memo.store_route(0, format!("/{number}").as_bytes(), LocationMatch::Place(number));
        }
        for number in 0..20_000u32 {
            let found = memo.route(0, format!("/{number}").as_bytes());
            assert!(found.is_none_or(|found| found == LocationMatch::Place(number)));
        }
    }
}
