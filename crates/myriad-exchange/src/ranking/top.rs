//! Heaviest keys of a stream in a table of fixed size: the space-saving sketch of Metwally, Agrawal and El Abbadi
//! (2005).
//!
//! If the table is full, a new key replaces the lightest key and inherits its count, which is then the maximum
//! overestimation of its own count. A key with more than the total weight divided by the table's capacity is always in
//! the table. This does not apply to [`HeaviestKeys::raise`], which ranks keys by the maximum of their weights.

use std::collections::HashMap;

/// Weight and data of a key in the table [`HeaviestKeys`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankedKey<D> {
    /// Sum of the key's weights, or their maximum if [`HeaviestKeys::raise`] is used.
    pub count: u64,
    /// Maximum amount by which `count` may be too high; 0 if it is exact.
    pub overestimate: u64,
    /// Data that the user of the table has gathered about the key since it entered the table.
    pub detail: D,
}

/// Table of the heaviest keys, of limited size: in a full table, a new key replaces the lightest, with
/// [`Self::raise`] only if it is heavier.
#[derive(Debug)]
pub struct HeaviestKeys<D> {
    capacity: usize,
    entries: HashMap<Box<[u8]>, RankedKey<D>, foldhash::fast::RandomState>,
}

impl<D: Default> HeaviestKeys<D> {
    /// Creates a table with a capacity of `most` keys; 0 counts as 1.
    pub fn new(most: usize) -> Self {
        Self { capacity: most.max(1), entries: HashMap::default() }
    }

    /// Adds `weight` to a key and calls `note` to update its data. A key that is not in the table is added; in a full
    /// table, it replaces the lightest key, whose weight its count includes as overestimate.
    pub fn add(&mut self, key: &[u8], weight: u64, note: impl FnOnce(&mut D)) {
        if let Some(place) = self.entries.get_mut(key) {
            place.count += weight;
            return note(&mut place.detail);
        }
        let over = self.make_room();
        let mut place = RankedKey { count: over + weight, overestimate: over, detail: D::default() };
        note(&mut place.detail);
        self.entries.insert(key.into(), place);
    }

    /// Raises the weight of a key to `weight` if that is greater, and calls `note` to update its data. Does nothing if
    /// the key is not in the table and the table is full of keys at least as heavy.
    pub fn raise(&mut self, key: &[u8], weight: u64, note: impl FnOnce(&mut D)) {
        if let Some(place) = self.entries.get_mut(key) {
            place.count = place.count.max(weight);
            return note(&mut place.detail);
        }
        if self.entries.len() >= self.capacity && self.lightest().is_some_and(|(_, count)| count >= weight) {
            return;
        }
        self.make_room();
        let mut place = RankedKey { count: weight, overestimate: 0, detail: D::default() };
        note(&mut place.detail);
        self.entries.insert(key.into(), place);
    }

    /// Removes the lightest key if the table is full, and returns the weight of the removed key; otherwise returns 0.
    fn make_room(&mut self) -> u64 {
        if self.entries.len() < self.capacity {
            return 0;
        }
        let Some((key, count)) = self.lightest() else { return 0 };
        let key: Box<[u8]> = key.into();
        self.entries.remove(&key);
        count
    }

    fn lightest(&self) -> Option<(&[u8], u64)> {
        let lightest = self.entries.iter().min_by_key(|(_, place)| place.count);
        lightest.map(|(key, place)| (&**key, place.count))
    }

    /// Returns all keys with their entries, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = (&[u8], &RankedKey<D>)> {
        self.entries.iter().map(|(key, place)| (&**key, place))
    }

    /// Returns the number of keys in the table.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the table is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_exact_while_there_is_room() {
        let mut top: HeaviestKeys<()> = HeaviestKeys::new(3);
        for (key, weight) in [(&b"a"[..], 5), (b"b", 1), (b"a", 2), (b"c", 1)] {
            top.add(key, weight, |()| ());
        }
        let mut all: Vec<_> =
            top.all().map(|(key, place)| (key.to_vec(), place.count, place.overestimate)).collect();
        all.sort();
        assert_eq!(all, [(b"a".to_vec(), 7, 0), (b"b".to_vec(), 1, 0), (b"c".to_vec(), 1, 0)]);
    }

    #[test]
    fn heavy_keys_stay_in_a_flood_of_others_and_bounds_hold() {
        for seed in 0..20 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let (mut top, mut truth): (HeaviestKeys<()>, _) =
                (HeaviestKeys::new(64), HashMap::<Vec<u8>, u64>::new());
            for _ in 0..20_000 {
                let key = if rng.u8(..4) == 0 { rng.u32(..5) } else { rng.u32(100..100_000) };
                let key = key.to_string().into_bytes();
                top.add(&key, 1, |()| ());
                *truth.entry(key).or_default() += 1;
            }
            assert!(top.len() <= 64);
            for heavy in 0..5u32 {
                let key = heavy.to_string().into_bytes();
                let place = top.all().find(|(other, _)| *other == key).map(|(_, place)| place);
                let place = place.unwrap_or_else(|| panic!("seed {seed}: {heavy} is gone"));
                let count = truth[&key];
                assert!(
                    place.count >= count && place.count - place.overestimate <= count,
                    "seed {seed}: {place:?} {count}"
                );
            }
        }
    }

    #[test]
    fn largest_weights_are_retained_when_raised() {
        let mut top: HeaviestKeys<()> = HeaviestKeys::new(2);
        for (key, weight) in [(&b"a"[..], 5), (b"b", 9), (b"c", 3), (b"a", 4), (b"d", 7)] {
            top.raise(key, weight, |()| ());
        }
        let mut all: Vec<_> = top.all().map(|(key, place)| (key.to_vec(), place.count)).collect();
        all.sort();
        assert_eq!(all, [(b"b".to_vec(), 9), (b"d".to_vec(), 7)]);
    }
}
