//! Map of fixed size in which the hash of a key determines its slot.

/// Number of slots of a map; a power of two.
const SLOTS: usize = 1024;

/// Map of values by the hashes of their keys, with one possible slot for each hash.
///
/// Bound: 1024 values. They are created on the first insertion and reused from then on, including the memory that they
/// own. Eviction: a slot is overwritten by a hash that claims it a second time without another claim in between. A scan
/// over a million keys therefore neither evicts frequently used keys nor writes values. Cost: the hashes are stored
/// separately from the values, so that an unsuccessful lookup reads only eight bytes. The map does not store keys: its
/// owner must check that a value belongs to the key and not to another key with the same hash.
#[derive(Debug)]
pub struct DirectMapped<T> {
    /// Hashes of the slots; zero for an empty slot. Empty before the first insertion.
    hashes: Vec<u64>,
    /// Last hash that claimed each slot without success.
    refused: Vec<u64>,
    values: Vec<T>,
}

impl<T> Default for DirectMapped<T> {
    fn default() -> Self {
        Self { hashes: Vec::new(), refused: Vec::new(), values: Vec::new() }
    }
}

impl<T: Default> DirectMapped<T> {
    /// Returns the value stored for this hash.
    #[inline]
    pub fn find(&self, hash: u64) -> Option<&T> {
        let at = hash as usize & (SLOTS - 1);
        if self.hashes.get(at) == Some(&hash.max(1)) { self.values.get(at) } else { None }
    }

    /// Claims the slot of this hash. Returns its value, which contains the previous contents and must be overwritten,
    /// if the claim succeeds. `is_over` returns whether a value is no longer valid, so that its slot is free.
    pub fn claim(&mut self, hash: u64, is_over: impl Fn(&T) -> bool) -> Option<&mut T> {
        if self.values.is_empty() {
            self.hashes.resize(SLOTS, 0);
            self.refused.resize(SLOTS, 0);
            self.values.resize_with(SLOTS, T::default);
        }
        let (at, hash) = (hash as usize & (SLOTS - 1), hash.max(1));
        let is_taken = ![0, hash].contains(&self.hashes[at]) && !is_over(&self.values[at]);
        if is_taken && self.refused[at] != hash {
            self.refused[at] = hash;
            return None;
        }
        self.hashes[at] = hash;
        Some(&mut self.values[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAYS: fn(&u64) -> bool = |_| false;

    fn claim(map: &mut DirectMapped<u64>, hash: u64) -> bool {
        map.claim(hash, STAYS).map(|value| *value = hash).is_some()
    }

    #[test]
    fn second_claim_evicts_entry_and_single_claims_do_not() {
        let mut map = DirectMapped::default();
        let (home, rival) = (3, 3 + SLOTS as u64);
        assert_eq!(map.find(home), None);
        assert!(claim(&mut map, home));
        assert_eq!(map.values.len(), SLOTS);
        for once in 2..1000 {
            assert!(!claim(&mut map, home + once * SLOTS as u64));
        }
        for displaces in [false, true] {
            assert_eq!(map.find(home), Some(&home));
            assert_eq!(claim(&mut map, rival), displaces);
        }
        assert_eq!((map.find(home), map.find(rival)), (None, Some(&rival)));
        let over = map.claim(home, |_| true).copied();
        assert_eq!(over, Some(rival), "what is over gives way at once");
    }

    #[test]
    fn a_hash_of_zero_is_one_like_others() {
        let mut map = DirectMapped::default();
        assert_eq!(map.find(0), None);
        assert!(claim(&mut map, 0));
        assert_eq!(map.find(0), Some(&0));
    }

    #[test]
    fn hash_retains_its_slot_and_finds_latest_value() {
        let mut map = DirectMapped::default();
        for value in 1..5 {
            *map.claim(7, |_| false).expect("its own slot") = value;
            assert_eq!(map.find(7), Some(&value));
        }
    }
}
