//! Notes about keys: the number of recent requests (`*_cache_min_uses`), and the time until which the key counts as
//! uncacheable (hit-for-miss).
//!
//! The table has a fixed size. A new note replaces the note in its set of eight whose last request or mark is oldest. A
//! lost or mistaken note costs only fetches, so 64 bits of a key's hash suffice to identify it.

const WAYS: usize = 8;

#[derive(Clone, Copy, Debug, Default)]
struct KeyNote {
    tag: u64,
    touched: u64,
    pass_until: u64,
    uses: u32,
}

/// Table of short notes about cache keys (request counts, marks as uncacheable), of fixed size. Its methods take 64
/// bits of the key's hash as `tag`, and `now` in milliseconds.
#[derive(Debug)]
pub struct KeyNotes {
    /// Sets of [`WAYS`] notes; empty until the first note.
    table: Vec<KeyNote>,
    sets: usize,
    /// Number of notes in use.
    taken: usize,
}

impl KeyNotes {
    /// Size in bytes of a set of [`WAYS`] notes, the unit of capacity.
    pub const SET_BYTES: usize = WAYS * size_of::<KeyNote>();

    /// Creates a table of `sets` sets, at least one. It allocates no memory before the first note.
    pub fn new(sets: usize) -> Self {
        Self { table: Vec::new(), sets: sets.max(1), taken: 0 }
    }

    /// Returns the number of bytes reserved for notes that have never been used.
    pub fn unused_bytes(&self) -> usize {
        (self.sets * WAYS).saturating_sub(self.taken) * size_of::<KeyNote>()
    }

    fn set(&self, tag: u64) -> std::ops::Range<usize> {
        let start = (tag % self.sets as u64) as usize * WAYS;
        start..start + WAYS
    }

    fn find(&mut self, tag: u64) -> Option<&mut KeyNote> {
        let set = self.set(tag);
        self.table.get_mut(set)?.iter_mut().find(|n| n.tag == tag && n.touched != 0)
    }

    fn find_or_take(&mut self, tag: u64) -> &mut KeyNote {
        if self.table.is_empty() {
            self.table = vec![KeyNote::default(); self.sets * WAYS];
        }
        let set = self.set(tag);
        let set = &mut self.table[set];
        let found = set.iter().position(|n| n.tag == tag && n.touched != 0);
        let oldest = || (0..WAYS).min_by_key(|&i| set[i].touched).unwrap_or(0);
        let index = found.unwrap_or_else(oldest);
        if found.is_none() {
            self.taken += usize::from(set[index].touched == 0);
            set[index] = KeyNote { tag, ..KeyNote::default() };
        }
        &mut set[index]
    }

    /// Counts a request for a key. Returns the count, which restarts at 1 if `inactive_ms` have passed since the last
    /// note about the key.
    pub fn count(&mut self, tag: u64, now: u64, inactive_ms: u64) -> u32 {
        let note = self.find_or_take(tag);
        if now.saturating_sub(note.touched) >= inactive_ms {
            note.uses = 0;
        }
        note.uses = note.uses.saturating_add(1);
        note.touched = now.max(1);
        note.uses
    }

    /// Marks a key as uncacheable until `until` (milliseconds since the epoch): its requests do not wait for each
    /// other.
    pub fn set_pass(&mut self, tag: u64, now: u64, until: u64) {
        let note = self.find_or_take(tag);
        note.touched = now.max(1);
        note.pass_until = until;
    }

    /// Returns true if a key is marked as uncacheable at `now`.
    pub fn passes(&mut self, tag: u64, now: u64) -> bool {
        self.find(tag).is_some_and(|n| now < n.pass_until)
    }

    /// Removes the mark of a key as uncacheable, set by [`Self::set_pass`].
    pub fn clear_pass(&mut self, tag: u64) {
        if let Some(note) = self.find(tag) {
            note.pass_until = 0;
        }
    }

    /// Removes the notes about all keys.
    pub fn clear(&mut self) {
        self.table.fill(KeyNote::default());
        self.taken = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_counted_per_key_and_forgotten_after_inactivity() {
        let mut notes = KeyNotes::new(4);
        assert_eq!(notes.count(7, 1000, 500), 1);
        assert_eq!(notes.count(7, 1100, 500), 2);
        assert_eq!(notes.count(8, 1100, 500), 1);
        assert_eq!(notes.count(7, 1600, 500), 1);
    }

    #[test]
    fn pass_ends_at_its_time_and_leaves_the_count() {
        let mut notes = KeyNotes::new(4);
        notes.count(7, 10, 500);
        notes.set_pass(7, 10, 20);
        assert!(notes.passes(7, 19));
        assert!(!notes.passes(7, 20));
        assert!(!notes.passes(8, 19));
        assert_eq!(notes.count(7, 20, 500), 2);
    }

    #[test]
    fn a_flood_of_keys_takes_no_more_room_and_drops_the_oldest() {
        let mut notes = KeyNotes::new(2);
        for tag in 0..10_000 {
            notes.set_pass(tag, tag + 1, u64::MAX);
        }
        assert_eq!(notes.table.len(), 2 * WAYS);
        assert!(notes.passes(9_999, 1));
        assert!(!notes.passes(0, 1));
    }
}
