//! Reasons why keys are not stored any more, in a table of fixed size, to explain cache misses.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of entries in the table of recently removed keys; a power of two.
const SLOTS: usize = 4096;
const WHY_BITS: u32 = 1;

/// Reason why the pages of a key are no longer in memory; after an eviction, they may still be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemovalReason {
    /// A purge or a removal (of the key or of all objects) removed the key, or at least one of its variants.
    Purged,
    /// The key was evicted, or had no hit within `inactive`.
    Evicted,
}

/// Recently removed keys with reasons, identified by part of their hashes. A key replaces an earlier key with the same
/// slot. The reason is wrong if 31 further bits of two keys with the same slot are equal.
#[derive(Debug)]
pub(crate) struct RemovedKeys(Box<[AtomicU32]>);

impl Default for RemovedKeys {
    fn default() -> Self {
        Self((0..SLOTS).map(|_| AtomicU32::new(0)).collect())
    }
}

impl RemovedKeys {
    /// Records the reason for which a key was removed.
    pub(crate) fn note(&self, hash: u128, why: RemovalReason) {
        let word = part(hash) << WHY_BITS | u32::from(why == RemovalReason::Evicted);
        self.0[slot_index(hash)].store(word, Relaxed);
    }

    /// Returns the reason for which a key was removed; `None` if none is recorded, or not any more.
    pub(crate) fn of(&self, hash: u128) -> Option<RemovalReason> {
        let word = self.0[slot_index(hash)].load(Relaxed);
        let why = if word & 1 == 1 { RemovalReason::Evicted } else { RemovalReason::Purged };
        (word >> WHY_BITS == part(hash)).then_some(why)
    }
}

fn slot_index(hash: u128) -> usize {
    hash as usize & (SLOTS - 1)
}

/// Returns the part of a hash that identifies a key in its slot. It is never 0, which marks an unused slot.
fn part(hash: u128) -> u32 {
    ((hash >> 64) as u32 >> WHY_BITS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_reason_of_a_key_is_known_and_no_other_key_s() {
        let gone = RemovedKeys::default();
        let hash = |n: u128| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        assert_eq!(gone.of(0), None);
        gone.note(hash(1), RemovalReason::Purged);
        gone.note(hash(2), RemovalReason::Evicted);
        assert_eq!(
            (gone.of(hash(1)), gone.of(hash(2)), gone.of(hash(3))),
            (Some(RemovalReason::Purged), Some(RemovalReason::Evicted), None)
        );
        gone.note(hash(1), RemovalReason::Evicted);
        assert_eq!(gone.of(hash(1)), Some(RemovalReason::Evicted));
    }
}
