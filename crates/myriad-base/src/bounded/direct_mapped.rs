//! Map of fixed size in which the hash of a key determines its slot.

/// Number of slots of a [`DirectMapped`] map; a power of two.
const SLOTS: usize = 1024;

/// Map from hashes of keys to values in which each hash has exactly one possible slot.
///
/// Bound: 1024 values, which are created at the first claim and then reused, including the memory that they own.
/// Eviction: a hash gets a slot with a valid value of another hash only with its second claim, and only if no other
/// hash was refused there in between. A scan over a million keys therefore does not evict frequently used keys. Cost:
/// hashes are stored separately, so that an unsuccessful lookup reads eight bytes. Keys are not stored: the caller must
/// check that a value belongs to its key, because keys can have the same hash.
#[derive(Debug)]
pub struct DirectMapped<T> {
    /// Hash of each slot; 0 for a free slot. The vector is empty before the first claim.
    hashes: Vec<u64>,
    /// Hash that was refused last, for each slot.
    refused: Vec<u64>,
    values: Vec<T>,
}

impl<T> Default for DirectMapped<T> {
    fn default() -> Self {
        Self { hashes: Vec::new(), refused: Vec::new(), values: Vec::new() }
    }
}

impl<T: Default> DirectMapped<T> {
    /// Returns the value of a hash; `None` if there is none. The caller must check that the value belongs to the key
    /// and is still valid.
    #[inline]
    pub fn find(&self, hash: u64) -> Option<&T> {
        let at = hash as usize & (SLOTS - 1);
        if self.hashes.get(at) == Some(&hash.max(1)) { self.values.get(at) } else { None }
    }

    /// Claims the slot of a hash. Returns the value to overwrite, which may have the contents of another key. Returns
    /// `None` if the slot has a valid value of another hash, unless `hash` was the last hash refused there. `is_over`
    /// returns true for a value that is no longer valid, whose slot counts as free.
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
