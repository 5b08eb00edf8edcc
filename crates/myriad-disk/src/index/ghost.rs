//! Ghost table of an eviction queue: hashes of values that were evicted recently.
//!
//! The table is approximate: a value that was never evicted may be found in it (if 32 bits of the hashes are equal),
//! and an evicted value may be forgotten early if its bucket is full. Either only puts a value into the wrong queue.

/// Number of entries in a bucket of the table of recently evicted values. A bucket is as long as a cache line.
const WAYS: usize = 8;

/// Entry for an evicted value: part of the value's hash (0 if the entry is unused), and its serial number among all
/// entries ever added to the table.
type GhostEntry = (u32, u32);

#[derive(Debug, Default)]
pub(crate) struct GhostTable {
    /// Entries of all buckets. The number of buckets is a power of two, or 0 before the first eviction.
    places: Vec<GhostEntry>,
    clock: u32,
}

impl GhostTable {
    /// Maximum number of bytes that the table needs per remembered evicted value.
    pub(crate) const BYTES: usize = 8 * size_of::<GhostEntry>() / 3;

    /// Records the hash of a value that is being evicted. `most` is the number of evicted values that must be
    /// remembered now; the table grows if it is too small for them.
    pub(crate) fn remember(&mut self, hash: u64, most: usize) {
        // The table has a third more entries than values, so that few buckets overflow.
        if self.places.len() * 3 < most * 4 {
            self.grow((most * 4 / 3 + 1).next_power_of_two().max(WAYS));
        }
        self.clock = self.clock.wrapping_add(1);
        self.put((part(hash), self.clock));
    }

    /// Returns true if the value with this hash is found among the last `most` evicted values; approximate, because
    /// only 32 bits of the hash are compared, and a full bucket loses entries. An entry that is found is removed, even
    /// if it is older than that, because the value is being inserted again.
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
        // Replaces the entry of the same value, an unused entry, or the oldest entry.
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

/// Returns the stored part of a hash, never 0. The part also determines the bucket, so that the table can grow.
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
        assert!((0..1000).all(|n| !ghost.recall(hash(n), 100)), "each value is recalled once");
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
