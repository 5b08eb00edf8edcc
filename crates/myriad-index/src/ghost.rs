//! Ghosts: hashes of values that left a queue not long ago, in a table of buckets.
//!
//! The table errs rarely: a value that never left may look as if it had (the chance is that of 32 bits of hash), and one that left may be
//! forgotten early where a bucket is full. Either costs a place in the wrong queue.

/// Places of a bucket: a cache line.
const WAYS: usize = 8;

/// A part of a hash, and the number of the value in the order in which values came in; a hash of zero is a vacant place.
type Place = (u32, u32);

#[derive(Debug, Default)]
pub(crate) struct Ghost {
    /// A power of two of buckets, or none before the first value.
    places: Vec<Place>,
    clock: u32,
}

impl Ghost {
    /// The most bytes that remembering one value takes.
    pub(crate) const BYTES: usize = 8 * size_of::<Place>() / 3;

    /// Remembers a value that leaves. `most` is how many are to be remembered at this moment.
    pub(crate) fn remember(&mut self, hash: u64, most: usize) {
        // A quarter of the places is spare, so that few buckets are too full.
        if self.places.len() * 3 < most * 4 {
            self.grow((most * 4 / 3 + 1).next_power_of_two().max(WAYS));
        }
        self.clock = self.clock.wrapping_add(1);
        self.put((part(hash), self.clock));
    }

    /// Whether a value was among the last `most` that left; it is forgotten then, as it is back.
    pub(crate) fn recall(&mut self, hash: u64, most: usize) -> bool {
        let (part, clock) = (part(hash), self.clock);
        let Some(place) = self.bucket(part).iter_mut().find(|place| place.0 == part) else { return false };
        let age = clock.wrapping_sub(place.1);
        *place = Place::default();
        (age as usize) < most
    }

    fn bucket(&mut self, part: u32) -> &mut [Place] {
        if self.places.is_empty() {
            return &mut [];
        }
        let bucket = part as usize & (self.places.len() / WAYS - 1);
        &mut self.places[bucket * WAYS..][..WAYS]
    }

    fn put(&mut self, place: Place) {
        let clock = self.clock;
        // The same value, a vacant place, or the one that came in first.
        let age = |other: &Place| match other.0 {
            same if same == place.0 => u64::MAX,
            0 => u64::MAX - 1,
            _ => u64::from(clock.wrapping_sub(other.1)),
        };
        if let Some(oldest) = self.bucket(place.0).iter_mut().max_by_key(|other| age(other)) {
            *oldest = place;
        }
    }

    fn grow(&mut self, places: usize) {
        let former = std::mem::replace(&mut self.places, vec![Place::default(); places]);
        former.into_iter().filter(|place| place.0 != 0).for_each(|place| self.put(place));
    }
}

/// The part of a hash that is kept, never zero. It places a value too, so that the table can grow.
fn part(hash: u64) -> u32 {
    ((hash >> 32) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(n: u64) -> u64 {
        xxhash_rust::xxh3::xxh3_64(&n.to_le_bytes())
    }

    #[test]
    fn what_left_last_is_remembered_and_what_left_long_ago_is_not() {
        let mut ghost = Ghost::default();
        assert!(!ghost.recall(hash(0), 100));
        for n in 0..1000 {
            ghost.remember(hash(n), 100);
        }
        let recalled = (0..1000).filter(|n| ghost.recall(hash(*n), 100)).collect::<Vec<_>>();
        assert!(recalled.iter().all(|n| *n >= 900), "{recalled:?}");
        assert!(recalled.len() > 80, "{recalled:?}");
        assert!((0..1000).all(|n| !ghost.recall(hash(n), 100)), "each is recalled once");
    }

    #[test]
    fn growing_forgets_nothing_that_still_counts() {
        let mut ghost = Ghost::default();
        for n in 0..1000 {
            ghost.remember(hash(n), n as usize + 1);
        }
        let recalled = (0..1000).filter(|n| ghost.recall(hash(*n), 1000)).count();
        assert!(recalled > 900, "{recalled}");
    }

    #[test]
    fn the_table_takes_no_more_than_it_says() {
        let mut ghost = Ghost::default();
        for most in [1, 5, 100, 1000, 1025, 5000] {
            ghost.remember(hash(most as u64), most);
            assert!(ghost.places.len() * size_of::<Place>() <= (most.max(WAYS) + 1) * Ghost::BYTES);
        }
    }
}
