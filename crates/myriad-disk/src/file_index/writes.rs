//! Pending writes of page files. They are registered so that purges and writes of later pages can cancel them.

use std::collections::HashMap;

use super::indexed_file::{FileRole, IndexedFile};
use crate::format::variant_hash;

/// Pending write of one page.
#[derive(Clone, Copy, Debug)]
struct PendingWrite {
    /// Hash of the page's variant ([`variant_hash`]); 0 for a key without variants.
    variant: u64,
    /// Number of this write, by which the thread that writes refers to it.
    number: u64,
    /// Sequence number at the start of the fetch of the page being written.
    generation: u64,
}

/// Pending writes of a zone, by key hash. Each variant of a key has at most one.
#[derive(Debug)]
pub(crate) struct PendingWrites {
    by_key: HashMap<u128, Vec<PendingWrite>>,
    /// Number that the next registered write gets.
    next: u64,
}

impl Default for PendingWrites {
    fn default() -> Self {
        Self { by_key: HashMap::new(), next: 1 }
    }
}

impl PendingWrites {
    /// Registers a write and returns its number. An earlier write of the same key and variant is cancelled; returns
    /// `None` if that write has a later generation.
    pub(crate) fn begin(&mut self, hash: u128, variant: Option<&[u8]>, generation: u64) -> Option<u64> {
        let number = self.next;
        let write = PendingWrite { variant: variant_hash(variant), number, generation };
        let of_key = self.by_key.entry(hash).or_default();
        match of_key.iter_mut().find(|other| other.variant == write.variant) {
            Some(other) if other.generation > generation => return None,
            Some(other) => *other = write,
            None => of_key.push(write),
        }
        self.next += 1;
        Some(number)
    }

    /// Returns true if a page of this key and variant that was fetched later than number `generation` is waiting to be
    /// written.
    pub(crate) fn has_newer(&self, hash: u128, variant: Option<&[u8]>, generation: u64) -> bool {
        if self.by_key.is_empty() {
            return false;
        }
        let variant = variant_hash(variant);
        let is_it = |write: &PendingWrite| write.variant == variant && write.generation > generation;
        self.by_key.get(&hash).is_some_and(|of_key| of_key.iter().any(is_it))
    }

    /// Returns true if the write is registered: neither finished nor cancelled by a purge or a later write.
    pub(crate) fn is_current(&self, hash: u128, variant: Option<&[u8]>, number: u64) -> bool {
        let variant = variant_hash(variant);
        let is_it = |write: &PendingWrite| write.variant == variant && write.number == number;
        self.by_key.get(&hash).is_some_and(|of_key| of_key.iter().any(is_it))
    }

    /// Unregisters a finished write. Returns false if it had been cancelled.
    pub(crate) fn end(&mut self, hash: u128, variant: Option<&[u8]>, number: u64) -> bool {
        let variant = variant_hash(variant);
        self.retain(hash, |write| (write.variant, write.number) != (variant, number))
    }

    /// Cancels the pending write of a key's variant.
    pub(crate) fn cancel(&mut self, hash: u128, variant: Option<&[u8]>) {
        let variant = variant_hash(variant);
        self.retain(hash, |write| write.variant != variant);
    }

    /// Cancels pending writes whose fetch began before `number`: only those of the file's variant if the file is a
    /// variant, otherwise all of its key.
    pub(crate) fn cancel_before(&mut self, filed: &IndexedFile, number: u64) {
        let is_other =
            |write: &PendingWrite| filed.role == FileRole::Variant && write.variant as u32 != filed.variant;
        self.retain(filed.key_hash(), |write| write.generation >= number || is_other(write));
    }

    /// Cancels the pending writes of a key for which `predicate` returns false. Returns true if any was cancelled.
    fn retain(&mut self, hash: u128, predicate: impl Fn(&PendingWrite) -> bool) -> bool {
        let Some(of_key) = self.by_key.get_mut(&hash) else { return false };
        let before = of_key.len();
        of_key.retain(predicate);
        let went = of_key.len() < before;
        if of_key.is_empty() {
            self.by_key.remove(&hash);
        }
        went
    }

    /// Cancels all pending writes of a key.
    pub(crate) fn remove_key(&mut self, hash: u128) {
        self.by_key.remove(&hash);
    }

    /// Cancels all pending writes of the zone.
    pub(crate) fn clear(&mut self) {
        self.by_key.clear();
    }

    /// Returns true if a write of a key is pending.
    pub(crate) fn has_key(&self, hash: u128) -> bool {
        self.by_key.contains_key(&hash)
    }

    /// Returns the hashes of all keys with pending writes.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u128> {
        self.by_key.keys().copied()
    }

    /// Returns the number of the oldest pending write, or the next number if none is pending.
    pub(crate) fn oldest(&self) -> u64 {
        let numbers = self.by_key.values().flatten().map(|write| write.number);
        numbers.min().unwrap_or(self.next)
    }

    /// Returns the number that the next write will get.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
}
