//! Writes in progress, so that purges and later pages can overtake them.

use std::collections::HashMap;

use super::indexed_file::{FileRole, IndexedFile};
use crate::format::variant_hash;

/// Write in progress.
#[derive(Clone, Copy, Debug)]
struct PendingWrite {
    /// Hash of the variant ([`variant_hash`]); 0 for a key without variants.
    variant: u64,
    number: u64,
    /// Generation of the page.
    generation: u64,
}

/// Writes in progress in a zone, by the hash of their key. A page has at most one.
#[derive(Debug)]
pub(crate) struct PendingWrites {
    by_key: HashMap<u128, Vec<PendingWrite>>,
    /// Number of the next write.
    next: u64,
}

impl Default for PendingWrites {
    fn default() -> Self {
        Self { by_key: HashMap::new(), next: 1 }
    }
}

impl PendingWrites {
    /// Registers a write and returns its number. It replaces an earlier write of the same page; `None` if that write
    /// has a later generation.
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

    /// Returns whether a page later than `generation` is being written, or about to be.
    pub(crate) fn has_newer(&self, hash: u128, variant: Option<&[u8]>, generation: u64) -> bool {
        if self.by_key.is_empty() {
            return false;
        }
        let variant = variant_hash(variant);
        let is_it = |write: &PendingWrite| write.variant == variant && write.generation > generation;
        self.by_key.get(&hash).is_some_and(|of_key| of_key.iter().any(is_it))
    }

    /// Returns whether a write may still take effect: no purge or later write has cancelled it.
    pub(crate) fn is_current(&self, hash: u128, variant: Option<&[u8]>, number: u64) -> bool {
        let variant = variant_hash(variant);
        let is_it = |write: &PendingWrite| write.variant == variant && write.number == number;
        self.by_key.get(&hash).is_some_and(|of_key| of_key.iter().any(is_it))
    }

    /// Removes a finished write. Returns whether it may take effect.
    pub(crate) fn end(&mut self, hash: u128, variant: Option<&[u8]>, number: u64) -> bool {
        let variant = variant_hash(variant);
        self.retain(hash, |write| (write.variant, write.number) != (variant, number))
    }

    /// Cancels the write of a page.
    pub(crate) fn cancel(&mut self, hash: u128, variant: Option<&[u8]>) {
        let variant = variant_hash(variant);
        self.retain(hash, |write| write.variant != variant);
    }

    /// Cancels the writes in place of a file whose fetch began before `number`: of the file's variant, or of all pages
    /// of the key if the file is not a variant.
    pub(crate) fn cancel_before(&mut self, filed: &IndexedFile, number: u64) {
        let is_other =
            |write: &PendingWrite| filed.role == FileRole::Variant && write.variant as u32 != filed.variant;
        self.retain(filed.key_hash(), |write| write.generation >= number || is_other(write));
    }

    /// Retains some of a key's writes. Returns whether others were removed.
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

    /// Cancels all writes of a key.
    pub(crate) fn remove_key(&mut self, hash: u128) {
        self.by_key.remove(&hash);
    }

    /// Cancels all writes.
    pub(crate) fn clear(&mut self) {
        self.by_key.clear();
    }

    /// Returns whether a page of a key is being written.
    pub(crate) fn has_key(&self, hash: u128) -> bool {
        self.by_key.contains_key(&hash)
    }

    /// Returns the keys with writes in progress.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u128> {
        self.by_key.keys().copied()
    }

    /// Returns the number of the oldest write in progress, or of the next write.
    pub(crate) fn oldest(&self) -> u64 {
        let numbers = self.by_key.values().flatten().map(|write| write.number);
        numbers.min().unwrap_or(self.next)
    }

    /// Returns the number of the next write.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }
}
