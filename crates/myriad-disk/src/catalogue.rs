//! What is known of the files in a zone's folder: names, sizes, when each was last used.

mod change;
mod filed;
mod recall;
mod softened;
#[cfg(test)]
mod tests;
mod writes;

use std::collections::HashMap;

use hashbrown::HashTable;
use myriad_index::{Name, S3Fifo};

use crate::file_labels::{FileLabels, mark_of};
use crate::format::variant_hash;

pub use filed::Filed;
use filed::whole;
pub(crate) use filed::{BLOCK, Marker, Role, blocks_of, halves};
use softened::SoftenedPages;
use writes::Writes;

/// The files of a zone. To change a file, the stripe of its key is held, and the catalogue is changed first.
#[derive(Debug)]
pub(crate) struct Catalogue {
    queue: S3Fifo<Filed>,
    by_name: HashTable<u32>,
    by_hash: HashTable<u32>,
    labels: FileLabels,
    markers: HashMap<Name, Marker>,
    /// Pages that soft purges cover.
    pub(crate) softened: SoftenedPages,
    /// Files that are still there but count as gone; they hold their blocks until they are.
    doomed: HashMap<Name, ([u64; 2], u32)>,
    /// Writes that have not come to their end.
    pub(crate) writes: Writes,
    used_blocks: u64,
    /// The shares of all files.
    shares: usize,
    /// Whether every file is known.
    pub(crate) complete: bool,
}

impl Catalogue {
    pub(crate) fn new() -> Self {
        Self {
            queue: S3Fifo::default(),
            by_name: HashTable::new(),
            by_hash: HashTable::new(),
            labels: FileLabels::default(),
            markers: HashMap::new(),
            softened: SoftenedPages::default(),
            doomed: HashMap::new(),
            writes: Writes::default(),
            used_blocks: 0,
            shares: 0,
            complete: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// As how many files all count, what their labels take in the index included.
    pub(crate) fn counted(&self) -> usize {
        self.len() + self.shares
    }

    pub(crate) fn slots(&self) -> u32 {
        self.queue.slots()
    }

    pub(crate) fn used_blocks(&self) -> u64 {
        self.used_blocks
    }

    pub(crate) fn doomed(&self) -> usize {
        self.doomed.len()
    }

    pub(crate) fn at(&self, slot: u32) -> Option<&Filed> {
        self.queue.at(slot)
    }

    pub(crate) fn find(&self, name: Name) -> Option<u32> {
        let is_it = |&slot: &u32| self.queue.at(slot).is_some_and(|filed| filed.name == name);
        self.by_name.find(name.table_hash(), is_it).copied()
    }

    pub(crate) fn get(&self, name: Name) -> Option<Filed> {
        self.find(name).and_then(|slot| self.queue.at(slot)).copied()
    }

    pub(crate) fn is_doomed(&self, name: Name) -> bool {
        self.doomed.contains_key(&name)
    }

    pub(crate) fn marker(&self, name: Name) -> Option<&Marker> {
        self.markers.get(&name)
    }

    /// The file of the key itself: its object, or the marker of its variants.
    fn of_key(&self, hash: u128) -> Option<Filed> {
        let halves = halves(hash);
        let is_it = |&slot: &u32| {
            self.queue.at(slot).is_some_and(|filed| filed.hash == halves && filed.role != Role::Variant)
        };
        self.by_hash.find(hash as u64, is_it).and_then(|slot| self.queue.at(*slot)).copied()
    }

    /// All files of a key.
    pub(crate) fn of_hash(&self, hash: u128) -> impl Iterator<Item = &Filed> {
        let halves = halves(hash);
        let filed = self.by_hash.iter_hash(hash as u64).filter_map(|slot| self.queue.at(*slot));
        filed.filter(move |filed| filed.hash == halves)
    }

    /// Whether a page of a key, of a generation that is meant, is in its file for sure.
    pub(crate) fn has_page(
        &self,
        hash: u128,
        variant: Option<&[u8]>,
        is_meant: impl Fn(u64) -> bool,
    ) -> bool {
        let variant = variant_hash(variant) as u32;
        let mut files = self.of_hash(hash).filter(|filed| filed.role != Role::Marker);
        files.any(|filed| filed.variant == variant && filed.sure && is_meant(filed.generation))
    }

    /// Whether a later page than that of `generation` is in its place for sure: one of the same variant, or any of a key that
    /// varies by something else by now. `selection` is selector and variant.
    pub(crate) fn is_overtaken(
        &self,
        main: Name,
        hash: u128,
        selection: Option<(&[u8], &[u8])>,
        generation: u64,
    ) -> bool {
        let marker = self.markers.get(&main);
        let varies_alike =
            selection.zip(marker).is_some_and(|((selector, _), marker)| *selector == *marker.selector);
        let variant = variant_hash(selection.map(|(_, variant)| variant)) as u32;
        let in_its_place =
            |filed: &Filed| !varies_alike || filed.role == Role::Variant && filed.variant == variant;
        let mut later = self.of_hash(hash).filter(|filed| filed.sure && filed.generation > generation);
        later.any(in_its_place)
    }

    /// The file in which the page for a request may be; `variant` derives the request's variant from a selector.
    pub(crate) fn seek(
        &self,
        key: &[u8],
        hash: u128,
        variant: &impl Fn(&[u8], &mut Vec<u8>),
    ) -> Option<Name> {
        let Some(filed) = self.of_key(hash) else {
            // Until every file is known there may be one.
            let name = (!self.complete && !self.writes.has_newer(hash, None, 0))
                .then(|| Name::of_key(key))
                .filter(|name| !self.is_doomed(*name));
            return name;
        };
        let Some(marker) = self.markers.get(&filed.name) else {
            // Its page is of the past where memory has dropped a later one that is still to be written.
            let is_past = self.writes.has_newer(hash, None, filed.generation);
            return (!is_past).then_some(filed.name);
        };
        let mut derived = Vec::new();
        variant(&marker.selector, &mut derived);
        let name = Name::of_variant(key, marker.family, &derived);
        let found = self.find(name).and_then(|slot| self.queue.at(slot));
        let known = found.is_some() || !self.complete && !self.is_doomed(name);
        let is_past = self.writes.has_newer(hash, Some(&derived), found.map_or(0, |filed| filed.generation));
        (known && !is_past).then_some(name)
    }

    /// The variants of a key, those of former families among them.
    fn variants(&self, hash: u128) -> impl Iterator<Item = &Filed> {
        self.of_hash(hash).filter(|filed| filed.role == Role::Variant)
    }

    /// The variant of a key to remove where there are more than `most`: the one that was used least recently, by what is known
    /// here and by what memory tells of the variants it has. `kept` is none.
    pub(crate) fn coldest_beyond(
        &self,
        hash: u128,
        most: usize,
        in_memory: &[(u32, u32)],
        kept: Option<Name>,
    ) -> Option<Name> {
        if self.variants(hash).count() <= most {
            return None;
        }
        let used = |filed: &Filed| {
            let hits = in_memory.iter().filter(|(variant, _)| *variant == filed.variant);
            (hits.map(|(_, used_s)| *used_s).max().unwrap_or(0).max(filed.used_s), filed.generation)
        };
        let others = self.variants(hash).filter(|filed| kept != Some(filed.name));
        others.min_by_key(|filed| used(filed)).map(|filed| filed.name)
    }

    /// Slots of some pages that bear a label, from after a slot on: the next slot to go on after, and the files among them whose
    /// fetch began before `number`.
    pub(crate) fn bearing(
        &self,
        label: u64,
        after: Option<u32>,
        number: u64,
        most: usize,
    ) -> (Option<u32>, Vec<Filed>) {
        let slots = self.labels.some(label, after, most);
        let last = slots.last().map(|(slot, _)| *slot).filter(|_| slots.len() == most);
        let filed = slots.into_iter().filter_map(|(slot, low)| {
            self.queue.at(slot).filter(|filed| mark_of(filed.generation) == low && filed.generation < number)
        });
        (last, filed.copied().collect())
    }

    /// Some doomed files, with the hashes of their keys.
    pub(crate) fn some_doomed(&self, count: usize) -> Vec<(Name, u128)> {
        self.doomed.iter().take(count).map(|(name, (halves, _))| (*name, whole(*halves))).collect()
    }

    /// The keys of pages that were to be replaced or removed, and whose former files are still there.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = u128> {
        let replaced = self.writes.keys();
        let doomed = self.doomed.values().map(|(halves, _)| whole(*halves));
        replaced.chain(doomed)
    }
}
