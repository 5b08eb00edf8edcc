//! Look-up table from key hashes to slots.
//!
//! Each table entry contains part of the hash, the slot, and the part of the slot's value that a look-up compares. A
//! look-up therefore reads one cache line before the value itself, where a usual hash table of slot numbers reads
//! three. Among a million pages, this is most of the cost of a look-up.

use std::hash::{BuildHasher, RandomState};

/// Numerator of the maximum load of the hash table: it grows when more than four fifths of its entries would be used.
const MAX_LOAD_NUMERATOR: usize = 4;
/// Denominator of the maximum load of the hash table.
const MAX_LOAD_DENOMINATOR: usize = 5;
/// Growth of the table: the new size is `GROWTH_OF / (GROWTH_OF - 1)` times the former size, a third more. Doubling
/// would leave half of the table unused for a long time.
const GROWTH_OF: usize = 4;

/// Used table entry: half of a hash, a slot, and the visible part of the slot's value.
#[derive(Debug)]
struct TableEntry<T> {
    part: u32,
    slot: u32,
    visible: T,
}

/// Hash table with open addressing and linear probing. A removal leaves no tombstone: later entries move into the gap.
#[derive(Debug)]
pub struct SlotTable<T> {
    /// Entries, `None` if unused; the number need not be a power of two, and is 0 before the first insertion. The
    /// preferred position of an entry is its stored half of the hash, scaled to the length.
    places: Vec<Option<TableEntry<T>>>,
    len: usize,
    /// Odd random number of this table, so that entries close to each other in one table are not close in another. It
    /// is no protection against crafted keys; the zone's seed is.
    seed: u64,
}

impl<T> Default for SlotTable<T> {
    fn default() -> Self {
        Self { places: Vec::new(), len: 0, seed: RandomState::new().hash_one(0) | 1 }
    }
}

impl<T> SlotTable<T> {
    /// Maximum number of bytes per entry of a table that is not small and had no removals, reached just after the table
    /// has grown.
    pub const BYTES: usize = (size_of::<Option<TableEntry<T>>>() * MAX_LOAD_DENOMINATOR * GROWTH_OF)
        .div_ceil(MAX_LOAD_NUMERATOR * (GROWTH_OF - 1));

    /// Returns the half of a hash that an entry stores. It determines the position of the entry, so a growing table
    /// does not need the whole hashes.
    fn part_of(&self, hash: u64) -> u32 {
        let product = u128::from(hash ^ self.seed) * u128::from(self.seed);
        (product >> 32) as u32 ^ (product >> 80) as u32
    }

    #[inline]
    fn home_position(&self, part: u32) -> usize {
        (part as usize * self.places.len()) >> 32
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.places.len() { 0 } else { at + 1 }
    }

    /// Returns the number of positions from one position of the table forward to another.
    fn steps(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.places.len() - from }
    }

    /// Returns the position in the table of an entry with this hash that `is_it` accepts by slot and visible part;
    /// `None` if there is none.
    #[inline]
    fn position(&self, hash: u64, is_it: impl Fn(u32, &T) -> bool) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        let part = self.part_of(hash);
        let mut at = self.home_position(part);
        loop {
            let place = self.places[at].as_ref()?;
            if place.part == part && is_it(place.slot, &place.visible) {
                return Some(at);
            }
            at = self.after(at);
        }
    }

    /// Returns the slot and visible part of an entry with this hash whose visible part `is_it` accepts; `None` if there
    /// is none.
    #[inline]
    pub fn find(&self, hash: u64, is_it: impl Fn(&T) -> bool) -> Option<(u32, &T)> {
        let at = self.position(hash, |_, seen| is_it(seen))?;
        self.places[at].as_ref().map(|place| (place.slot, &place.visible))
    }

    /// Inserts the slot of a value that is not in the table yet, with the visible part of the value.
    pub fn insert(&mut self, hash: u64, slot: u32, seen: T) {
        if (self.len + 1) * MAX_LOAD_DENOMINATOR > self.places.len() * MAX_LOAD_NUMERATOR {
            self.grow();
        }
        self.put(TableEntry { part: self.part_of(hash), slot, visible: seen });
        self.len += 1;
    }

    fn put(&mut self, place: TableEntry<T>) {
        let mut at = self.home_position(place.part);
        while self.places[at].is_some() {
            at = self.after(at);
        }
        self.places[at] = Some(place);
    }

    fn grow(&mut self) {
        let places = (self.places.len() * GROWTH_OF / (GROWTH_OF - 1)).max(8);
        let vacant = (0..places).map(|_| None).collect();
        let former = std::mem::replace(&mut self.places, vacant);
        former.into_iter().flatten().for_each(|place| self.put(place));
    }

    /// Replaces the visible part of the entry for a slot that was inserted with `hash`, and returns the former part;
    /// `None` if the slot is not in the table.
    pub fn replace(&mut self, hash: u64, slot: u32, seen: T) -> Option<T> {
        let at = self.position(hash, |known, _| known == slot)?;
        self.places[at].as_mut().map(|place| std::mem::replace(&mut place.visible, seen))
    }

    /// Removes the entry for a slot that was inserted with `hash`. Has no effect if it is not in the table.
    pub fn remove(&mut self, hash: u64, slot: u32) {
        if let Some(at) = self.position(hash, |known, _| known == slot) {
            self.places[at] = None;
            self.len -= 1;
            self.close_gap(at);
        }
    }

    /// Closes the gap that a removal leaves: moves later entries into it, but none before its preferred position.
    fn close_gap(&mut self, mut gap: usize) {
        let mut at = gap;
        loop {
            at = self.after(at);
            let Some(place) = &self.places[at] else { return };
            if self.steps(self.home_position(place.part), at) >= self.steps(gap, at) {
                self.places.swap(gap, at);
                gap = at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn index_matches_hash_map_through_random_changes() {
        let mut random = fastrand::Rng::with_seed(7);
        for bits in [2, 4, 10, 64] {
            let (mut index, mut model) = (SlotTable::<u32>::default(), HashMap::<u32, u64>::new());
            for _ in 0..20_000 {
                let slot = random.u32(..500);
                // With few bits most entries have the same preferred position.
                let hash = random.u64(..) >> (64 - bits);
                if let Some(known) = model.remove(&slot) {
                    assert_eq!(index.find(known, |found| *found == slot), Some((slot, &slot)));
                    index.remove(known, slot);
                } else {
                    assert_eq!(index.find(hash, |found| *found == slot), None);
                    index.insert(hash, slot, slot);
                    model.insert(slot, hash);
                }
                assert_eq!(index.len, model.len());
            }
            for (slot, hash) in &model {
                assert_eq!(index.find(*hash, |found| found == slot), Some((*slot, slot)));
            }
            assert_eq!(index.places.iter().flatten().count(), model.len());
        }
    }

    #[test]
    fn what_is_seen_of_a_slot_can_be_changed() {
        let mut index = SlotTable::default();
        index.insert(1, 10, "a");
        index.insert(1, 11, "b");
        assert_eq!(index.replace(1, 11, "c"), Some("b"));
        assert_eq!(index.replace(1, 12, "d"), None);
        assert_eq!(
            (index.find(1, |seen| *seen == "c"), index.find(1, |seen| *seen == "b")),
            (Some((11, &"c")), None)
        );
    }

    #[test]
    fn an_empty_one_takes_no_memory_and_finds_nothing() {
        let mut index = SlotTable::<u32>::default();
        assert_eq!(index.find(1, |_| true), None);
        index.remove(1, 1);
        assert_eq!(index.places.capacity(), 0);
    }

    #[test]
    fn index_stays_within_stated_size() {
        let mut index = SlotTable::default();
        for slot in 0..10_000 {
            index.insert(u64::from(slot).wrapping_mul(0x9E37_79B9_7F4A_7C15), slot, ());
            if slot > 8 {
                assert!(
                    index.places.len() * size_of::<Option<TableEntry<()>>>()
                        <= (slot as usize + 1) * SlotTable::<()>::BYTES + 16
                );
            }
        }
    }
}
