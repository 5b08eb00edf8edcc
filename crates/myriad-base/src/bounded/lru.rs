//! Map of bounded weight that evicts the least recently used entries.

use std::borrow::Borrow;
use std::fmt;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

const NONE: u32 = u32::MAX;

/// Map with a maximum total weight, ordered by last use.
///
/// Bound: the total weight of the entries is at most `most`. The caller defines the weight of an entry: its bytes, or 1
/// to count entries. Eviction: the entry that was least recently inserted or accessed by [`Self::get_mut`]. Cost: one
/// lookup and a constant number of link updates per use. Hashes are seeded, so that clients cannot choose colliding
/// keys.
pub struct Lru<K, V> {
    /// Index in `slots` of each entry, found by the hash of its key.
    index: HashTable<u32>,
    hasher: RandomState,
    slots: Vec<LruSlot<K, V>>,
    /// Indexes of the slots without an entry.
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    weight: u64,
    most: u64,
}

struct LruSlot<K, V> {
    hash: u64,
    entry: Option<(K, V)>,
    weight: u32,
    newer: u32,
    older: u32,
}

impl<K: Hash + Eq, V> Lru<K, V> {
    /// Creates a map with a maximum total weight of `most`.
    pub fn new(most: u64) -> Self {
        Self {
            index: HashTable::new(),
            hasher: RandomState::default(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            weight: 0,
            most,
        }
    }

    /// Changes the maximum weight and evicts the least recently used entries beyond it.
    pub fn set_max_weight(&mut self, most: u64) {
        self.most = most;
        self.make_room(0);
    }

    /// Returns the value of a key without marking it as used; `None` if the map does not contain the key.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.value_at(self.find_slot(self.hasher.hash_one(key), key)?)
    }

    /// Returns the value of a key and marks it as the most recently used; `None` if the map does not contain the key.
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.find_slot(self.hasher.hash_one(key), key)?;
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        self.slots[at as usize].entry.as_mut().map(|(_, value)| value)
    }

    /// Inserts an entry as the most recently used. Replaces an entry of the same key and evicts the least recently used
    /// entries as necessary. Returns false if `weight` exceeds the maximum; an entry of the same key is removed even
    /// then.
    pub fn insert(&mut self, key: K, value: V, weight: u32) -> bool {
        let hash = self.hasher.hash_one(&key);
        if let Some(at) = self.find_slot(hash, &key) {
            self.take_slot(at);
        }
        if u64::from(weight) > self.most {
            return false;
        }
        self.make_room(weight);
        let slot = LruSlot { hash, entry: Some((key, value)), weight, newer: NONE, older: NONE };
        let at = if let Some(at) = self.free.pop() {
            self.slots[at as usize] = slot;
            at
        } else {
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        };
        self.weight += u64::from(weight);
        let slots = &self.slots;
        self.index.insert_unique(hash, at, |at| slots[*at as usize].hash);
        self.link(at);
        true
    }

    /// Returns true if an entry of this weight fits without eviction.
    pub fn has_room(&self, weight: u32) -> bool {
        self.weight + u64::from(weight) <= self.most
    }

    /// Removes the entry of a key and returns its value; `None` if the map does not contain the key.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.find_slot(self.hasher.hash_one(key), key)?;
        self.take_slot(at).map(|(_, value)| value)
    }

    /// Removes the least recently used entry if `may_go` returns true for its value. Returns true if an entry was
    /// removed; false for an empty map.
    pub fn remove_oldest_if(&mut self, may_go: impl FnOnce(&V) -> bool) -> bool {
        let goes = self.value_at(self.oldest).is_some_and(may_go);
        if goes {
            self.take_slot(self.oldest);
        }
        goes
    }

    /// Marks the least recently used entry as the most recently used.
    pub fn renew_oldest(&mut self) {
        let at = self.oldest;
        if at != self.newest {
            self.unlink(at);
            self.link(at);
        }
    }

    /// Removes all entries. The maximum weight remains.
    pub fn clear(&mut self) {
        *self = Self { hasher: self.hasher.clone(), ..Self::new(self.most) };
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Returns true if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Returns the total weight of the entries.
    pub fn weight(&self) -> u64 {
        self.weight
    }

    /// Returns the values in unspecified order.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the entries in unspecified order, without marking them as used.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.slots.iter().filter_map(|slot| slot.entry.as_ref()).map(|(key, value)| (key, value))
    }

    fn value_at(&self, at: u32) -> Option<&V> {
        self.slots.get(at as usize)?.entry.as_ref().map(|(_, value)| value)
    }

    fn make_room(&mut self, weight: u32) {
        while !self.has_room(weight) && self.oldest != NONE {
            self.take_slot(self.oldest);
        }
    }

    fn find_slot<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<u32>
    where
        K: Borrow<Q>,
    {
        let is_it =
            |at: &u32| self.slots[*at as usize].entry.as_ref().is_some_and(|(own, _)| own.borrow() == key);
        self.index.find(hash, is_it).copied()
    }

    /// Removes and returns the entry of a slot.
    fn take_slot(&mut self, at: u32) -> Option<(K, V)> {
        self.unlink(at);
        let slot = &mut self.slots[at as usize];
        let (entry, hash) = (slot.entry.take(), slot.hash);
        self.weight -= u64::from(slot.weight);
        if let Ok(known) = self.index.find_entry(hash, |known| *known == at) {
            known.remove();
        }
        self.free.push(at);
        entry
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

impl<K, V> fmt::Debug for Lru<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Lru");
        shown.field("len", &self.index.len()).field("weight", &self.weight).field("most", &self.most);
        shown.finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_goes_when_there_is_no_room() {
        let mut map: Lru<Box<[u8]>, u32> = Lru::new(4 * 64);
        for number in 0..4u32 {
            assert!(map.insert(number.to_le_bytes().into(), number, 64));
        }
        assert_eq!(map.get_mut(&0u32.to_le_bytes()[..]), Some(&mut 0));
        assert!(!map.has_room(1));
        assert!(map.insert(4u32.to_le_bytes().into(), 4, 64));
        assert_eq!(map.get_mut(&1u32.to_le_bytes()[..]), None);
        assert_eq!(map.get_mut(&0u32.to_le_bytes()[..]), Some(&mut 0));
        assert_eq!(map.len(), 4);
        assert!(!map.insert([0; 1000].into(), 5, 1024));
        map.set_max_weight(64);
        assert_eq!(map.len(), 1);
        assert_eq!(map.get_mut(&0u32.to_le_bytes()[..]), Some(&mut 0));
        map.clear();
        assert!(map.is_empty() && map.weight() == 0 && map.get(&0u32.to_le_bytes()[..]).is_none());
        assert!(map.insert(b"a"[..].into(), 6, 64));
    }

    #[test]
    fn a_key_has_one_entry_and_a_look_makes_none_younger() {
        let mut map: Lru<&str, u32> = Lru::new(3);
        for (key, value) in [("a", 1), ("b", 2), ("c", 3)] {
            assert!(map.insert(key, value, 1));
        }
        assert_eq!(map.get("a"), Some(&1));
        assert!(map.insert("d", 4, 1));
        assert_eq!((map.get("a"), map.len()), (None, 3));
        assert!(map.insert("b", 5, 2));
        assert_eq!((map.get("b"), map.get("c"), map.get("d"), map.weight()), (Some(&5), None, Some(&4), 3));
        assert!(!map.insert("b", 6, 4));
        assert_eq!(map.get("b"), None);
        assert_eq!((map.remove("d"), map.weight()), (Some(4), 0));
        assert!(!map.remove_oldest_if(|_| true));
    }

    #[test]
    fn what_leaves_gives_its_slot_to_the_next() {
        let mut map: Lru<u32, u32> = Lru::new(4);
        for key in 0..100 {
            assert!(map.insert(key, key, 1));
            if key > 0 {
                assert_eq!(map.remove(&key), Some(key));
            }
        }
        assert_eq!((map.len(), map.slots.len(), map.get(&0)), (1, 2, Some(&0)));
        for key in 0..100 {
            assert!(map.insert(key, key, 1));
        }
        assert_eq!((map.len(), map.slots.len()), (4, 4));
    }

    #[test]
    fn map_agrees_with_a_plain_list() {
        const MOST: u64 = 40;
        for seed in 0..300 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut map: Lru<u8, u32> = Lru::new(MOST);
            // Key, value and weight of each entry, oldest first.
            let mut model: Vec<(u8, u32, u32)> = Vec::new();
            for step in 0..400u32 {
                let key = random.u8(0..32);
                let position = model.iter().position(|(known, ..)| *known == key);
                match random.u8(0..7) {
                    0 => {
                        let removed = position.map(|at| model.remove(at).1);
                        assert_eq!(map.remove(&key), removed, "seed {seed}");
                    }
                    1 => {
                        let goes = model.first().is_some_and(|(_, value, _)| value.is_multiple_of(2));
                        assert_eq!(map.remove_oldest_if(|value| value.is_multiple_of(2)), goes);
                        if goes {
                            model.remove(0);
                        }
                    }
                    6 => {
                        map.renew_oldest();
                        if !model.is_empty() {
                            model.rotate_left(1);
                        }
                    }
                    2 => assert_eq!(map.get(&key).copied(), position.map(|at| model[at].1), "seed {seed}"),
                    3 => {
                        assert_eq!(map.get_mut(&key).copied(), position.map(|at| model[at].1), "seed {seed}");
                        if let Some(at) = position {
                            let entry = model.remove(at);
                            model.push(entry);
                        }
                    }
                    _ => {
                        let weight = random.u32(1..6);
                        assert!(map.insert(key, step, weight));
                        if let Some(at) = position {
                            model.remove(at);
                        }
                        model.push((key, step, weight));
                        while model.iter().map(|(.., weight)| u64::from(*weight)).sum::<u64>() > MOST {
                            model.remove(0);
                        }
                    }
                }
                assert_eq!(map.len(), model.len(), "seed {seed}");
                assert_eq!(map.weight(), model.iter().map(|(.., weight)| u64::from(*weight)).sum::<u64>());
                let mut values: Vec<u32> = map.values().copied().collect();
                values.sort_unstable();
                let mut known: Vec<u32> = model.iter().map(|(_, value, _)| *value).collect();
                known.sort_unstable();
                assert_eq!(values, known, "seed {seed}");
            }
        }
    }
}
