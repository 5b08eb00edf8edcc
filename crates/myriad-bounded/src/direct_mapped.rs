//! A map of fixed size in which the hash of a key says its slot.

/// Slots of a map; a power of two.
const SLOTS: usize = 1024;

/// Values by the hashes of their keys, each in the one slot that its hash says.
///
/// Bound: 1024 values, which are made when the first comes and reused from then on, with the memory that they own. Displaced: what
/// lies in a slot, by a hash that asks for the slot a second time while no other has; so those who go through a million keys once
/// neither push out what others come for again, nor write anything down. Cost: the hashes lie apart from the values, so that
/// whoever finds nothing has looked at eight bytes. The map knows no keys: that a value is of the key that was meant, and not of
/// another with the same hash, is for its owner to see.
#[derive(Debug)]
pub struct DirectMapped<T> {
    /// Zero where nothing is kept; none before the first.
    kept: Vec<u64>,
    /// The hash that asked last for each slot and did not get it.
    refused: Vec<u64>,
    values: Vec<T>,
}

impl<T> Default for DirectMapped<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), refused: Vec::new(), values: Vec::new() }
    }
}

impl<T: Default> DirectMapped<T> {
    /// The value that is kept for this hash.
    #[inline]
    pub fn find(&self, hash: u64) -> Option<&T> {
        let at = hash as usize & (SLOTS - 1);
        if self.kept.get(at) == Some(&hash.max(1)) { self.values.get(at) } else { None }
    }

    /// The value in the slot of this hash, which it keeps from now on, if it may; it holds what lay there before, and is to be
    /// overwritten. `is_over` tells of a value that nobody believes any more: its slot is free.
    pub fn claim(&mut self, hash: u64, is_over: impl Fn(&T) -> bool) -> Option<&mut T> {
        if self.values.is_empty() {
            self.kept.resize(SLOTS, 0);
            self.refused.resize(SLOTS, 0);
            self.values.resize_with(SLOTS, T::default);
        }
        let (at, hash) = (hash as usize & (SLOTS - 1), hash.max(1));
        let is_taken = ![0, hash].contains(&self.kept[at]) && !is_over(&self.values[at]);
        if is_taken && self.refused[at] != hash {
            self.refused[at] = hash;
            return None;
        }
        self.kept[at] = hash;
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
    fn those_who_come_once_displace_nobody_and_who_comes_twice_does() {
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
    fn a_hash_keeps_its_slot_and_finds_what_was_written_last() {
        let mut map = DirectMapped::default();
        for value in 1..5 {
            *map.claim(7, |_| false).expect("its own slot") = value;
            assert_eq!(map.find(7), Some(&value));
        }
    }
}
