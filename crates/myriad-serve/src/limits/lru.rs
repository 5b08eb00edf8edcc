//! A table of bounded weight: the entry that was not used longest goes first.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

const NONE: u32 = u32::MAX;

/// Entries by key, in the order of their last use.
pub(super) struct Lru<V> {
    index: HashTable<u32>,
    hasher: RandomState,
    slots: Vec<Slot<V>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    weight: u64,
    most: u64,
    /// Weight of an entry beside its key, before rounding.
    overhead: u64,
}

struct Slot<V> {
    hash: u64,
    key: Box<[u8]>,
    value: V,
    newer: u32,
    older: u32,
}

impl<V: Default> Lru<V> {
    /// A table of at most `most` bytes, where an entry weighs `overhead` and its key, rounded up to a power of two.
    pub(super) fn new(most: u64, overhead: u64) -> Self {
        Self {
            index: HashTable::new(),
            hasher: RandomState::default(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            weight: 0,
            most,
            overhead,
        }
    }

    /// Changes the bound; what is beyond it goes.
    pub(super) fn resize(&mut self, most: u64) {
        self.most = most;
        self.make_room(0);
    }

    /// The entry of a key, which becomes the newest.
    pub(super) fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        let at = self.find(key)?;
        self.unlink(at);
        self.link(at);
        Some(&mut self.slots[at as usize].value)
    }

    /// Adds an entry for a key that has none, at the cost of the oldest. False where there is no room for it at all.
    pub(super) fn insert(&mut self, key: &[u8], value: V) -> bool {
        let weight = self.weight_of(key);
        if weight > self.most {
            return false;
        }
        self.make_room(weight);
        let hash = self.hasher.hash_one(key);
        let slot = Slot { hash, key: key.into(), value, newer: NONE, older: NONE };
        let at = if let Some(at) = self.free.pop() {
            self.slots[at as usize] = slot;
            at
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        self.weight += weight;
        let slots = &self.slots;
        self.index.insert_unique(hash, at, |at| slots[*at as usize].hash);
        self.link(at);
        true
    }

    /// Adds an entry only where room is left: nothing is displaced.
    pub(super) fn insert_within(&mut self, key: &[u8], value: V) -> bool {
        self.weight + self.weight_of(key) <= self.most && self.insert(key, value)
    }

    /// Takes the entry of a key out.
    pub(super) fn remove(&mut self, key: &[u8]) {
        if let Some(at) = self.find(key) {
            self.drop_slot(at);
        }
    }

    /// Takes the oldest entry out, if it is one that `may_go`.
    pub(super) fn remove_oldest_if(&mut self, may_go: impl FnOnce(&V) -> bool) -> bool {
        let Some(slot) = self.slots.get(self.oldest as usize) else { return false };
        let goes = may_go(&slot.value);
        if goes {
            self.drop_slot(self.oldest);
        }
        goes
    }

    /// Entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.index.len()
    }

    fn weight_of(&self, key: &[u8]) -> u64 {
        (self.overhead + key.len() as u64).next_power_of_two()
    }

    fn make_room(&mut self, weight: u64) {
        while self.weight + weight > self.most && self.oldest != NONE {
            self.drop_slot(self.oldest);
        }
    }

    fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.index.find(hash, |at| *self.slots[*at as usize].key == *key).copied()
    }

    fn drop_slot(&mut self, at: u32) {
        self.unlink(at);
        let slot = &mut self.slots[at as usize];
        let key = std::mem::take(&mut slot.key);
        slot.value = V::default();
        let hash = slot.hash;
        self.weight -= self.weight_of(&key);
        if let Ok(entry) = self.index.find_entry(hash, |known| *known == at) {
            entry.remove();
        }
        self.free.push(at);
    }

    fn link(&mut self, at: u32) {
        let newest = std::mem::replace(&mut self.newest, at);
        let slot = &mut self.slots[at as usize];
        (slot.newer, slot.older) = (NONE, newest);
        match self.slots.get_mut(newest as usize) {
            Some(before) => before.newer = at,
            None => self.oldest = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let (newer, older) = (self.slots[at as usize].newer, self.slots[at as usize].older);
        match self.slots.get_mut(newer as usize) {
            Some(slot) => slot.older = older,
            None => self.newest = older,
        }
        match self.slots.get_mut(older as usize) {
            Some(slot) => slot.newer = newer,
            None => self.oldest = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_goes_when_there_is_no_room() {
        let mut table: Lru<u32> = Lru::new(4 * 64, 40);
        for number in 0..4u32 {
            assert!(table.insert(&number.to_le_bytes(), number));
        }
        assert_eq!(table.get_mut(&0u32.to_le_bytes()), Some(&mut 0));
        assert!(!table.insert_within(b"full", 9));
        assert!(table.insert(&4u32.to_le_bytes(), 4));
        assert_eq!(table.get_mut(&1u32.to_le_bytes()), None);
        assert_eq!(table.get_mut(&0u32.to_le_bytes()), Some(&mut 0));
        assert_eq!(table.len(), 4);
        assert!(!table.insert(&[0; 1000], 5));
        table.resize(64);
        assert_eq!(table.len(), 1);
        assert_eq!(table.get_mut(&0u32.to_le_bytes()), Some(&mut 0));
    }

    #[test]
    fn table_agrees_with_a_plain_list() {
        const MOST: usize = 20;
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut table: Lru<u32> = Lru::new(MOST as u64 * 64, 40);
            // The oldest first.
            let mut model: Vec<(u8, u32)> = Vec::new();
            for step in 0..400u32 {
                let key = random.u8(0..32);
                match random.u8(0..4) {
                    0 => {
                        table.remove(&[key]);
                        model.retain(|(known, _)| *known != key);
                    }
                    1 if !model.is_empty() => {
                        let even = model[0].1.is_multiple_of(2);
                        assert_eq!(table.remove_oldest_if(|value| value.is_multiple_of(2)), even);
                        if even {
                            model.remove(0);
                        }
                    }
                    _ => {
                        let found = table.get_mut(&[key]).copied();
                        let position = model.iter().position(|(known, _)| *known == key);
                        assert_eq!(found, position.map(|at| model[at].1), "seed {seed}");
                        if let Some(at) = position {
                            let entry = model.remove(at);
                            model.push(entry);
                        } else {
                            assert!(table.insert(&[key], step));
                            model.push((key, step));
                            if model.len() > MOST {
                                model.remove(0);
                            }
                        }
                    }
                }
                assert_eq!(table.len(), model.len(), "seed {seed}");
                assert_eq!(table.weight, model.len() as u64 * 64);
            }
        }
    }
}
