//! What is known of the files in a zone's folder: names, sizes, when each was last used.

use std::collections::HashMap;
use std::sync::Arc;

use hashbrown::HashTable;

use super::file_labels::{FileLabels, mark_of};
use super::format::variant_hash;
use super::name::Name;
use crate::s3_fifo::{S3Fifo, Standing};

/// Pairs of label and file that each change looks at, for those that are stale. Whoever brings more labels looks at twice as
/// many, so that stale pairs stay few beside the others whatever pages bear.
const TIDIED: usize = 32;

/// Bytes of the unit that files are accounted in.
pub(crate) const BLOCK: u64 = 4096;

/// Labels that are part of what a file is reckoned with (`keys_zone`): those of its URL. Of the others, some 32 bytes each, so
/// many count as one file more.
const LABELS_WITHIN: usize = 2;
const LABELS_OF_ONE: usize = 4;

/// As how many files more a file counts that bears so many labels.
fn share_of(labels: usize) -> u8 {
    u8::try_from(labels.saturating_sub(LABELS_WITHIN).div_ceil(LABELS_OF_ONE)).unwrap_or(u8::MAX)
}

/// Blocks that a file of `len` bytes takes.
pub(crate) fn blocks_of(len: u64) -> u32 {
    u32::try_from(len.div_ceil(BLOCK)).unwrap_or(u32::MAX)
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The one object of its key.
    Plain,
    /// It says what the variants of its key vary by.
    Marker,
    /// One of them.
    Variant,
}

/// One file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filed {
    pub(crate) name: Name,
    /// XXH3-128 of the key under the seed, in halves so that it needs no alignment of 16.
    pub(crate) hash: [u64; 2],
    /// The sequence number at which the fetch of its page began.
    pub(crate) generation: u64,
    pub(crate) blocks: u32,
    /// Half of the hash that tells the variants of a key apart.
    pub(crate) variant: u32,
    /// Seconds since the epoch.
    pub(crate) used_s: u32,
    pub(crate) role: Role,
    /// Whether the file itself was seen, rather than only a snapshot that names it.
    pub(crate) seen: bool,
    /// Whether generation and labels are known from the file, or from a snapshot that nothing can have changed since.
    pub(crate) sure: bool,
    /// As how many files more its labels count, once it is entered.
    pub(crate) share: u8,
}

impl Filed {
    pub(crate) fn key_hash(&self) -> u128 {
        whole(self.hash)
    }
}

/// Splits a key's hash as [`Filed`] keeps it.
pub(crate) fn halves(hash: u128) -> [u64; 2] {
    [hash as u64, (hash >> 64) as u64]
}

/// The hash of [`halves`].
fn whole([low, high]: [u64; 2]) -> u128 {
    u128::from(low) | u128::from(high) << 64
}

/// What the variants of a key vary by.
#[derive(Clone, Debug)]
pub(crate) struct Marker {
    pub(crate) selector: Arc<[u8]>,
    pub(crate) family: u64,
}

/// A write that has not come to its end.
#[derive(Clone, Copy, Debug)]
struct Write {
    /// A hash; 0 for a plain object.
    variant: u64,
    number: u64,
    /// That of the page.
    generation: u64,
}

/// Those of a key.
type Pending = Vec<Write>;

/// The files of a zone. Whoever changes a file holds the lock of its key's stripe and changes this first.
#[derive(Debug)]
pub(crate) struct Catalogue {
    queue: S3Fifo<Filed>,
    by_name: HashTable<u32>,
    by_hash: HashTable<u32>,
    labels: FileLabels,
    markers: HashMap<Name, Marker>,
    /// Pages that soft purges cover, with the newest that does, until nobody counts them any more.
    softened: HashMap<Name, u64>,
    /// Those whose files are yet to say so.
    unwritten: Vec<Name>,
    /// Files that are still there but count as gone; they hold their blocks until they are.
    doomed: HashMap<Name, ([u64; 2], u32)>,
    pending: HashMap<u128, Pending>,
    next_write: u64,
    used_blocks: u64,
    /// The shares of all files.
    shares: usize,
    /// Whether every file is known.
    pub(crate) complete: bool,
}

/// What a look-up comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sought {
    /// It is not on disk.
    Absent,
    /// It may be in this file.
    In(Name),
}

impl Catalogue {
    pub(crate) fn new() -> Self {
        Self {
            queue: S3Fifo::new(),
            by_name: HashTable::new(),
            by_hash: HashTable::new(),
            labels: FileLabels::default(),
            markers: HashMap::new(),
            softened: HashMap::new(),
            unwritten: Vec::new(),
            doomed: HashMap::new(),
            pending: HashMap::new(),
            next_write: 1,
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

    /// In which file the object for a request may be; `variant` derives its variant key from a selector.
    pub(crate) fn seek(&self, key: &[u8], hash: u128, variant: &impl Fn(&[u8], &mut Vec<u8>)) -> Sought {
        let Some(filed) = self.of_key(hash) else {
            // Not before every file is known is it sure that there is none.
            let name = (!self.complete && !self.writes_newer(hash, None, 0))
                .then(|| Name::of_key(key))
                .filter(|name| !self.is_doomed(*name));
            return name.map_or(Sought::Absent, Sought::In);
        };
        let Some(marker) = self.markers.get(&filed.name) else {
            // Its page is of the past where memory has let go of a later one that is still to be written.
            let is_past = self.writes_newer(hash, None, filed.generation);
            return if is_past { Sought::Absent } else { Sought::In(filed.name) };
        };
        let mut derived = Vec::new();
        variant(&marker.selector, &mut derived);
        let name = Name::of_variant(key, marker.family, &derived);
        let found = self.find(name).and_then(|slot| self.queue.at(slot));
        let known = found.is_some() || !self.complete && !self.is_doomed(name);
        let is_past = self.writes_newer(hash, Some(&derived), found.map_or(0, |filed| filed.generation));
        if known && !is_past { Sought::In(name) } else { Sought::Absent }
    }

    /// Takes blocks that a file is about to fill.
    pub(crate) fn take_blocks(&mut self, blocks: u32) {
        self.used_blocks += u64::from(blocks);
    }

    /// Gives blocks back that no file fills any more.
    pub(crate) fn return_blocks(&mut self, blocks: u32) {
        debug_assert!(self.used_blocks >= u64::from(blocks));
        self.used_blocks = self.used_blocks.saturating_sub(u64::from(blocks));
    }

    /// Enters a file whose blocks are taken already, with the labels of its page. What stood under its name gives its own
    /// back, since the file is about to be replaced.
    pub(crate) fn enter(&mut self, filed: Filed, labels: &[u64]) {
        self.enter_as(Filed { share: share_of(labels.len()), ..filed }, labels, None);
    }

    fn enter_as(&mut self, filed: Filed, labels: &[u64], standing: Option<Standing>) {
        if let Some((_, blocks)) = self.doomed.remove(&filed.name) {
            self.return_blocks(blocks);
        }
        let slot = self.enter_filed(filed, standing);
        for label in labels {
            self.labels.insert(*label, slot, filed.generation);
        }
        self.tidy_labels(TIDIED.max(2 * labels.len()));
    }

    fn enter_filed(&mut self, filed: Filed, standing: Option<Standing>) -> u32 {
        self.shares += usize::from(filed.share);
        if let Some(slot) = self.find(filed.name) {
            if let Some(known) = self.queue.at_mut(slot) {
                let former = *known;
                *known = Filed { used_s: known.used_s.max(filed.used_s), ..filed };
                self.return_blocks(former.blocks);
                self.shares -= usize::from(former.share);
                if former.hash != filed.hash {
                    self.rehash(slot, &former, &filed);
                }
                if former.generation != filed.generation {
                    self.softened.remove(&filed.name);
                }
            }
            return slot;
        }
        let slot = match standing {
            None => self.queue.insert(filed, filed.name.table_hash()),
            Some(standing) => self.queue.insert_as(filed, standing),
        };
        let queue = &self.queue;
        let by_name = |&slot: &u32| queue.at(slot).map_or(0, |filed| filed.name.table_hash());
        let by_hash = |&slot: &u32| queue.at(slot).map_or(0, |filed| filed.hash[0]);
        self.by_name.insert_unique(filed.name.table_hash(), slot, by_name);
        self.by_hash.insert_unique(filed.hash[0], slot, by_hash);
        slot
    }

    /// The file is another key's of the same name by now: keys of one MD5 are easily made.
    fn rehash(&mut self, slot: u32, former: &Filed, filed: &Filed) {
        if let Ok(found) = self.by_hash.find_entry(former.hash[0], |&other| other == slot) {
            found.remove();
        }
        let queue = &self.queue;
        let by_hash = |&slot: &u32| queue.at(slot).map_or(0, |filed| filed.hash[0]);
        self.by_hash.insert_unique(filed.hash[0], slot, by_hash);
        if former.role == Role::Marker {
            self.doom_variants(former.key_hash());
        }
    }

    /// Drops some of what the index says of files that are no more.
    fn tidy_labels(&mut self, steps: usize) {
        let queue = &self.queue;
        let is_live =
            |slot: u32, low: u32| queue.at(slot).is_some_and(|filed| mark_of(filed.generation) == low);
        self.labels.tidy(steps, is_live);
    }

    /// Notes what a marker of a key says. The variants of another family are to be removed.
    pub(crate) fn mark(&mut self, name: Name, hash: u128, selector: &[u8], family: u64) {
        let marker = Marker { selector: selector.into(), family };
        let former = self.markers.insert(name, marker);
        if former.is_some_and(|former| former.family != family || *former.selector != *selector) {
            self.doom_variants(hash);
        }
    }

    /// The variants of a key, those of former families among them.
    fn variants(&self, hash: u128) -> impl Iterator<Item = &Filed> {
        self.of_hash(hash).filter(|filed| filed.role == Role::Variant)
    }

    /// The variants of a key that are known are to be removed.
    pub(crate) fn doom_variants(&mut self, hash: u128) {
        let names: Vec<Name> = self.variants(hash).map(|filed| filed.name).collect();
        for name in names {
            self.doom(name);
        }
    }

    /// The key has no variants any more.
    pub(crate) fn unmark(&mut self, name: Name, hash: u128) {
        self.markers.remove(&name);
        self.doom_variants(hash);
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

    /// A marker that says what no variant varies by is to be removed with the last of them.
    fn doom_idle_marker(&mut self, hash: u128) {
        if self.variants(hash).next().is_none()
            && let Some(marker) = self.of_key(hash).filter(|filed| filed.role == Role::Marker)
        {
            self.doom(marker.name);
        }
    }

    /// Takes a file out, its blocks still held; the variants of a marker go with it, and the marker with the last of them.
    fn take(&mut self, name: Name) -> Option<Filed> {
        let slot = self.find(name)?;
        let filed = self.queue.remove(slot)?;
        self.shares -= usize::from(filed.share);
        if let Ok(found) = self.by_name.find_entry(name.table_hash(), |&other| other == slot) {
            found.remove();
        }
        if let Ok(found) = self.by_hash.find_entry(filed.hash[0], |&other| other == slot) {
            found.remove();
        }
        match filed.role {
            Role::Marker => self.unmark(name, filed.key_hash()),
            // Before every file is known, there may be others.
            Role::Variant if self.complete => self.doom_idle_marker(filed.key_hash()),
            Role::Variant | Role::Plain => {}
        }
        self.softened.remove(&name);
        self.tidy_labels(TIDIED);
        Some(filed)
    }

    /// From here on the file counts as gone, though it has yet to be removed.
    pub(crate) fn doom(&mut self, name: Name) {
        if let Some(filed) = self.take(name) {
            self.doomed.insert(name, (filed.hash, filed.blocks));
        }
    }

    /// As [`Self::doom`], for a file that may be there though it is not known.
    pub(crate) fn doom_unknown(&mut self, name: Name, hash: u128) {
        self.doom(name);
        self.doomed.entry(name).or_insert((halves(hash), 0));
    }

    /// The file is gone already.
    pub(crate) fn forget(&mut self, name: Name) -> Option<Filed> {
        let filed = self.take(name)?;
        self.return_blocks(filed.blocks);
        Some(filed)
    }

    /// Some that are doomed, with the hash of their key.
    pub(crate) fn some_doomed(&self, count: usize) -> Vec<(Name, u128)> {
        self.doomed.iter().take(count).map(|(name, (halves, _))| (*name, whole(*halves))).collect()
    }

    /// A doomed file has been removed.
    pub(crate) fn buried(&mut self, name: Name) {
        if let Some((_, blocks)) = self.doomed.remove(&name) {
            self.return_blocks(blocks);
        }
    }

    /// The file that should leave next.
    pub(crate) fn victim(&mut self) -> Option<Filed> {
        let slot = self.queue.victim(|filed| u64::from(filed.blocks), |_| 0)?;
        self.queue.at(slot).copied()
    }

    /// As [`Self::doom`], to make room.
    pub(crate) fn evict(&mut self, name: Name) {
        if let Some(slot) = self.find(name) {
            self.queue.remember(slot, name.table_hash());
        }
        self.doom(name);
    }

    /// The file was used.
    pub(crate) fn touch(&mut self, name: Name, used_s: u32) {
        if let Some(slot) = self.find(name)
            && let Some(filed) = self.queue.hit(slot, 1)
        {
            filed.used_s = filed.used_s.max(used_s);
        }
    }

    /// The page of a key was used in memory.
    pub(crate) fn touch_key(&mut self, hash: u128, used_s: u32) {
        let halves = halves(hash);
        let slots: Vec<u32> = self.by_hash.iter_hash(hash as u64).copied().collect();
        for slot in slots {
            if self.queue.at(slot).is_some_and(|filed| filed.hash == halves)
                && let Some(filed) = self.queue.hit(slot, 1)
            {
                filed.used_s = filed.used_s.max(used_s);
            }
        }
    }

    /// Notes that a write begins, and gives its number. One that was begun before for the same object is overtaken; `None` where
    /// that is of a later page.
    pub(crate) fn begin_write(&mut self, hash: u128, variant: Option<&[u8]>, generation: u64) -> Option<u64> {
        let number = self.next_write;
        let write = Write { variant: variant_hash(variant), number, generation };
        let pending = self.pending.entry(hash).or_default();
        match pending.iter_mut().find(|other| other.variant == write.variant) {
            Some(other) if other.generation > generation => return None,
            Some(other) => *other = write,
            None => pending.push(write),
        }
        self.next_write += 1;
        Some(number)
    }

    /// Whether a page later than `generation` is being written, or about to be.
    pub(crate) fn writes_newer(&self, hash: u128, variant: Option<&[u8]>, generation: u64) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let variant = variant_hash(variant);
        let is_it = |write: &Write| write.variant == variant && write.generation > generation;
        self.pending.get(&hash).is_some_and(|pending| pending.iter().any(is_it))
    }

    /// Whether a write may still take effect: nothing purged or overtook it.
    pub(crate) fn is_wanted(&self, hash: u128, variant: Option<&[u8]>, number: u64) -> bool {
        let variant = variant_hash(variant);
        let is_it = |write: &Write| write.variant == variant && write.number == number;
        self.pending.get(&hash).is_some_and(|pending| pending.iter().any(is_it))
    }

    /// Notes the end of a write; whether it may take effect.
    pub(crate) fn end_write(&mut self, hash: u128, variant: Option<&[u8]>, number: u64) -> bool {
        let Some(pending) = self.pending.get_mut(&hash) else { return false };
        let variant = variant_hash(variant);
        let before = pending.len();
        pending.retain(|write| (write.variant, write.number) != (variant, number));
        let wanted = pending.len() < before;
        if pending.is_empty() {
            self.pending.remove(&hash);
        }
        wanted
    }

    /// The keys of pages that were to be replaced or removed, and whose former files are still there.
    pub(crate) fn unfinished(&self) -> impl Iterator<Item = u128> {
        let replaced = self.pending.keys().copied();
        let doomed = self.doomed.values().map(|(halves, _)| whole(*halves));
        replaced.chain(doomed)
    }

    /// Dooms all files of a key and what is being written of it; how many objects that were.
    pub(crate) fn remove_key(&mut self, key: &[u8], hash: u128) -> usize {
        self.pending.remove(&hash);
        let count = match self.of_key(hash) {
            None => 0,
            Some(filed) if filed.role == Role::Marker => self.variants(hash).count(),
            Some(_) => 1,
        };
        if count > 0 || !self.complete || self.of_key(hash).is_some() {
            self.doom_unknown(Name::of_key(key), hash);
        }
        count
    }

    /// Dooms every file and what is being written; how many objects that were.
    pub(crate) fn remove_all(&mut self) -> usize {
        self.pending.clear();
        let slots = 0..self.queue.slots();
        let is_page = |filed: &&Filed| filed.role != Role::Marker;
        let count = slots.clone().filter_map(|slot| self.queue.at(slot)).filter(is_page).count();
        for slot in slots {
            if let Some(filed) = self.queue.at(slot).copied() {
                self.doom(filed.name);
            }
        }
        count
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

    /// What is being written of an object is not wanted any more.
    pub(crate) fn cancel(&mut self, hash: u128, variant: Option<&[u8]>) {
        if let Some(pending) = self.pending.get_mut(&hash) {
            let variant = variant_hash(variant);
            pending.retain(|write| write.variant != variant);
            if pending.is_empty() {
                self.pending.remove(&hash);
            }
        }
    }

    /// What is being written in the place of a file is not wanted any more, where its fetch began before `number`: of its variant,
    /// or of all where the file was not of one.
    pub(crate) fn cancel_before(&mut self, filed: &Filed, number: u64) {
        let hash = filed.key_hash();
        if let Some(pending) = self.pending.get_mut(&hash) {
            let is_other =
                |write: &Write| filed.role == Role::Variant && write.variant as u32 != filed.variant;
            pending.retain(|write| write.generation >= number || is_other(write));
            if pending.is_empty() {
                self.pending.remove(&hash);
            }
        }
    }

    /// Whether something of a key is being written.
    pub(crate) fn is_being_written(&self, hash: u128) -> bool {
        self.pending.contains_key(&hash)
    }

    /// The number of the oldest write under way, or of the next one.
    pub(crate) fn oldest_write(&self) -> u64 {
        let pending = self.pending.values().flatten().map(|write| write.number);
        pending.min().unwrap_or(self.next_write)
    }

    pub(crate) fn next_write(&self) -> u64 {
        self.next_write
    }

    /// A soft purge covers a page; whether it was not known to.
    pub(crate) fn soften(&mut self, name: Name, number: u64) -> bool {
        let former = self.softened.insert(name, number).unwrap_or(0);
        if former == 0 {
            self.unwritten.push(name);
        }
        if former > number {
            self.softened.insert(name, former);
        }
        former < number
    }

    /// The newest soft purge that is known to cover a page; zero where none is.
    pub(crate) fn softened_by(&self, name: Name) -> u64 {
        self.softened.get(&name).copied().unwrap_or(0)
    }

    /// Takes some files that are yet to say that they are stale.
    pub(crate) fn take_softened(&mut self, most: usize) -> Vec<Filed> {
        let rest = self.unwritten.len().saturating_sub(most);
        let names = self.unwritten.split_off(rest);
        names
            .into_iter()
            .filter(|name| self.softened.contains_key(name))
            .filter_map(|name| self.get(name))
            .collect()
    }

    /// Whether files are yet to say that they are stale.
    pub(crate) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Forgets what was softened up to a number; nobody counts it any more.
    pub(crate) fn forget_softened(&mut self, number: u64) {
        self.softened.retain(|_, by| *by > number);
    }

    /// The files as they stand in the queue, those that are nearest to leaving first.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = (&Filed, Standing)> {
        self.queue.in_order()
    }

    /// Puts the files in the order of their last use, which was unknown while they were found one by one.
    pub(crate) fn sort_by_use(&mut self) {
        self.queue.sort_by_key(|filed| filed.used_s);
    }

    /// Gives every file the same time of use, as after a stop of unknown length.
    pub(crate) fn all_used(&mut self, now_s: u32) {
        for slot in 0..self.queue.slots() {
            if let Some(filed) = self.queue.at_mut(slot) {
                filed.used_s = filed.used_s.max(now_s);
            }
        }
    }

    /// The file was seen; false where it is unknown, or what is known of it is not sure.
    pub(crate) fn see(&mut self, name: Name) -> bool {
        let Some(slot) = self.find(name) else { return false };
        self.queue.at_mut(slot).is_some_and(|filed| {
            filed.seen = true;
            filed.sure
        })
    }

    /// A file as a snapshot tells of it.
    pub(crate) fn recall(&mut self, filed: Filed, standing: Standing) {
        if self.find(filed.name).is_some() || self.is_doomed(filed.name) {
            return;
        }
        self.take_blocks(filed.blocks);
        self.enter_as(filed, &[], Some(standing));
    }

    /// A label as a snapshot tells of it, for the file whose name has these bits.
    pub(crate) fn recall_label(&mut self, label: u64, name: u64) {
        let is_it = |&slot: &u32| self.queue.at(slot).is_some_and(|filed| filed.name.table_hash() == name);
        let slot = self.by_name.find(name, is_it).copied();
        // A file that was written since is another page, with labels of its own.
        if let Some((slot, filed)) = slot.and_then(|slot| Some((slot, self.queue.at(slot)?)))
            && !filed.seen
        {
            self.labels.insert(label, slot, filed.generation);
        }
    }

    /// All labels that files bear, each with bits of its file's name.
    pub(crate) fn all_labels(&self) -> Vec<(u64, u64)> {
        let name = |slot: u32, low: u32| {
            let filed = self.queue.at(slot).filter(|filed| mark_of(filed.generation) == low);
            filed.map(|filed| filed.name.table_hash())
        };
        let live = self.labels.iter().filter_map(|(label, slot, low)| Some((label, name(slot, low)?)));
        live.collect()
    }

    /// Every file has been looked at: those that only a snapshot knew are gone.
    pub(crate) fn complete(&mut self) {
        for slot in 0..self.queue.slots() {
            if let Some(filed) = self.queue.at(slot).filter(|filed| !filed.seen || !filed.sure).copied() {
                self.forget(filed.name);
            }
        }
        for slot in 0..self.queue.slots() {
            if let Some(marker) = self.queue.at(slot).filter(|filed| filed.role == Role::Marker) {
                self.doom_idle_marker(marker.key_hash());
            }
        }
        self.complete = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filed(key: u64, generation: u64) -> Filed {
        Filed {
            name: Name::of_key(&key.to_le_bytes()),
            hash: [key, 0],
            generation,
            blocks: 0,
            variant: 0,
            used_s: 0,
            role: Role::Plain,
            seen: true,
            sure: true,
            share: 0,
        }
    }

    #[test]
    fn labels_of_pages_that_are_no_more_stay_few_however_many_pages_bear() {
        let labels: Vec<u64> = (0..100).collect();
        let mut catalogue = Catalogue::new();
        for generation in 0..200 {
            (0..20).for_each(|key| catalogue.enter(filed(key, generation), &labels));
            assert!(catalogue.labels.len() <= 4 * 2000, "refreshed {generation} times");
        }
        for key in 20..600 {
            let victim = catalogue.victim().unwrap();
            catalogue.evict(victim.name);
            catalogue.enter(filed(key, 1000 + key), &labels);
            assert!(catalogue.labels.len() <= 4 * 2000, "{key} pages came");
        }
    }
}
