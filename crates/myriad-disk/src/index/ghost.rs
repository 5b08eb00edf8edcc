//! Ghosts: hashes of values that left a queue recently, in a table of buckets.
//!
//! The table is rarely wrong: a value that never left may appear in it (with the probability of equal 32 bits of hash),
//! and a value that left may be removed early from a full bucket. Either only places a value in the wrong queue.

/// Number of places in a bucket, which is a cache line.
const WAYS: usize = 8;

/// Part of a hash, and the sequence number of the value's insertion. A hash of zero marks a vacant place.
type GhostEntry = (u32, u32);

#[derive(Debug, Default)]
pub(crate) struct GhostTable {
    /// Places of a power of two of buckets, or none before the first value.
    places: Vec<GhostEntry>,
    clock: u32,
}

impl GhostTable {
    /// Maximum number of bytes per remembered value.
    pub(crate) const BYTES: usize = 8 * size_of::<GhostEntry>() / 3;

    /// Remembers a value that leaves the queue. `most` is the current maximum number of remembered values.
    pub(crate) fn remember(&mut self, hash: u64, most: usize) {
        // A quarter of the places is spare, so that few buckets overflow.
        if self.places.len() * 3 < most * 4 {
            self.grow((most * 4 / 3 + 1).next_power_of_two().max(WAYS));
        }
        self.clock = self.clock.wrapping_add(1);
        self.put((part(hash), self.clock));
    }

    /// Returns whether a value was among the last `most` that left, and removes it because it is back.
    pub(crate) fn recall(&mut self, hash: u64, most: usize) -> bool {
        let (part, clock) = (part(hash), self.clock);
        let Some(place) = self.bucket(part).iter_mut().find(|place| place.0 == part) else { return false };
        let age = clock.wrapping_sub(place.1);
        *place = GhostEntry::default();
        (age as usize) < most
    }

    fn bucket(&mut self, part: u32) -> &mut [GhostEntry] {
        if self.places.is_empty() {
            return &mut [];
        }
        let bucket = part as usize & (self.places.len() / WAYS - 1);
        &mut self.places[bucket * WAYS..][..WAYS]
    }

    fn put(&mut self, place: GhostEntry) {
        let clock = self.clock;
        // The place of the same value, a vacant place, or the oldest place.
        let age = |other: &GhostEntry| match other.0 {
            same if same == place.0 => u64::MAX,
            0 => u64::MAX - 1,
            _ => u64::from(clock.wrapping_sub(other.1)),
        };
        if let Some(oldest) = self.bucket(place.0).iter_mut().max_by_key(|other| age(other)) {
            *oldest = place;
        }
    }

    fn grow(&mut self, places: usize) {
        let former = std::mem::replace(&mut self.places, vec![GhostEntry::default(); places]);
        former.into_iter().filter(|place| place.0 != 0).for_each(|place| self.put(place));
    }
}

/// Returns the stored part of a hash, never zero. It also determines the bucket, so that the table can grow.
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
        let mut ghost = GhostTable::default();
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
        let mut ghost = GhostTable::default();
        for n in 0..1000 {
            ghost.remember(hash(n), n as usize + 1);
        }
        let recalled = (0..1000).filter(|n| ghost.recall(hash(*n), 1000)).count();
        assert!(recalled > 900, "{recalled}");
    }

    #[test]
    fn ghost_table_stays_within_stated_size() {
        let mut ghost = GhostTable::default();
        for most in [1, 5, 100, 1000, 1025, 5000] {
            ghost.remember(hash(most as u64), most);
            assert!(ghost.places.len() * size_of::<GhostEntry>() <= (most.max(WAYS) + 1) * GhostTable::BYTES);
        }
    }
}
