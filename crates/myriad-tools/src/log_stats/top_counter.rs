//! Counter for the most frequent keys among any number of keys, in bounded memory.

use std::collections::HashMap;

/// Maximum length of a counted key (such as a page name) in bytes; the rest is truncated.
const LONGEST_KEY: usize = 256;

/// Counter of the most frequent keys (Space-Saving, of Metwally, Agrawal and El Abbadi 2005).
///
/// The counts are exact up to `most` different keys. When the table is full, the half of the keys with the lower
/// weights is dropped. A key that is added later may have been dropped before, so its weight starts at an upper bound
/// of the dropped weights, which is also stored as its maximum error `over`.
#[derive(Debug)]
pub(crate) struct TopCounter<T> {
    most: usize,
    /// Upper bound of the weights of all keys that were dropped.
    floor: u64,
    entries: HashMap<Box<[u8]>, TopEntry<T>, foldhash::fast::RandomState>,
}

/// Counts stored for a key.
#[derive(Clone, Debug)]
pub(crate) struct TopEntry<T> {
    /// Upper bound of the weight of the key (such as its number of requests). Keys are ranked by `weight - over`.
    pub(crate) weight: u64,
    /// Amount by which `weight` may at most be too high.
    pub(crate) over: u64,
    /// Further counts of the key, which restart if the key is dropped and added again.
    pub(crate) value: T,
}

impl<T: Default> TopCounter<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(2), floor: 0, entries: HashMap::default() }
    }

    /// Adds `weight` to the weight of a key, which is cut to [`LONGEST_KEY`] bytes. Returns the further counts of the
    /// key.
    pub(crate) fn add(&mut self, key: &[u8], weight: u64) -> &mut T {
        let key = &key[..key.len().min(LONGEST_KEY)];
        // A new key is looked up twice, because the entry API would copy the key in each call.
        if !self.entries.contains_key(key) {
            if self.entries.len() == self.most {
                self.drop_lighter_half();
            }
            let entry = TopEntry { weight: self.floor, over: self.floor, value: T::default() };
            self.entries.insert(key.into(), entry);
        }
        let entry = self.entries.get_mut(key).expect("the entry exists");
        entry.weight = entry.weight.saturating_add(weight);
        &mut entry.value
    }

    fn drop_lighter_half(&mut self) {
        let mut weights: Vec<u64> = self.entries.values().map(|kept| kept.weight).collect();
        let half = weights.len() / 2;
        let (_, floor, _) = weights.select_nth_unstable(half);
        let floor = *floor;
        let mut left = half;
        self.entries.retain(|_, kept| {
            let goes = kept.weight <= floor && left > 0;
            left -= usize::from(goes);
            !goes
        });
        self.floor = self.floor.max(floor);
    }

    /// Returns up to `count` keys, ordered by their minimum possible weight (`weight - over`), the highest first; keys
    /// with equal weights by name.
    pub(crate) fn heaviest(&self, count: usize) -> Vec<(&[u8], &TopEntry<T>)> {
        let mut all: Vec<_> = self.entries.iter().map(|(key, kept)| (&**key, kept)).collect();
        all.sort_by(|(key, kept), (other, beside)| {
            (beside.weight - beside.over).cmp(&(kept.weight - kept.over)).then(key.cmp(other))
        });
        all.truncate(count);
        all
    }

    /// Returns the number of stored keys.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether keys were dropped, so that counts may be inexact.
    #[cfg(test)]
    pub(crate) fn has_dropped(&self) -> bool {
        self.floor > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_things_are_counted_exactly() {
        let mut top = TopCounter::<u64>::new(100);
        for number in 0..1000_u64 {
            *top.add(format!("{}", number % 7).as_bytes(), 2) += 1;
        }
        let first = top.heaviest(1)[0];
        assert_eq!((first.0, first.1.weight, first.1.over, first.1.value), (&b"0"[..], 286, 0, 143));
        assert!(!top.has_dropped() && top.len() == 7);
    }

    #[test]
    fn the_heavy_are_found_among_any_number_and_bounds_hold() {
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (mut top, mut exact) = (TopCounter::<()>::new(64), HashMap::<String, u64>::new());
            for _ in 0..50_000 {
                let key = match random.u8(..10) {
                    0..3 => format!("heavy {}", random.u8(..3)),
                    _ => format!("rare {}", random.u32(..)),
                };
                top.add(key.as_bytes(), 1);
                *exact.entry(key).or_default() += 1;
                assert!(top.len() <= 64);
            }
            let found = top.heaviest(3);
            assert!(found.iter().all(|(key, _)| key.starts_with(b"heavy")), "seed {seed}");
            for (key, kept) in top.heaviest(64) {
                let count = exact[str::from_utf8(key).expect("text")];
                assert!(kept.weight - kept.over <= count && count <= kept.weight, "seed {seed}");
            }
        }
    }

    #[test]
    fn a_long_key_takes_bounded_room() {
        let mut top = TopCounter::<()>::new(2);
        top.add(&vec![b'x'; 100_000], 1);
        assert_eq!(top.heaviest(1)[0].0.len(), LONGEST_KEY);
    }
}
