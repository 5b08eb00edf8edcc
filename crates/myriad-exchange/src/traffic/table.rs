//! Table of one worker's traffic counts by key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

use super::counts::TrafficCounts;
use super::key::TrafficKey;

/// Number of keys of [`KeyClass::Fixed`] from which on each new key evicts unused keys, which usually belong to former
/// configurations. A key in the slots of a worker is not evicted, because its requests are counted there without a
/// look-up.
const MAX_FIXED: usize = 16 * 1024;
/// Maximum number of keys that are examined before a key is added, so that an addition takes constant time.
const MAX_EXAMINED: usize = 16;

/// Class of a key, which determines how the number of such keys is limited. The least recently used are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyClass {
    /// Key that depends only on the configuration.
    Fixed,
    /// Key that clients can influence; the total memory of such keys is limited to this number of bytes.
    Bytes(u64),
    /// Key that clients can influence; the number of such keys is limited to this number.
    Number(u64),
}

/// Traffic counts of one worker by key. The worker looks up keys that are not in its slots; other threads read and
/// remove keys.
#[derive(Debug)]
pub struct TrafficTable {
    /// Number of calls of [`Self::remove`]. A change makes the results of earlier look-ups invalid.
    epoch: AtomicU64,
    tables: Mutex<KeyTables>,
}

#[derive(Debug)]
struct KeyTables {
    fixed: Lru<Box<[u8]>, Arc<TrafficCounts>>,
    bytes: Lru<Box<[u8]>, Arc<TrafficCounts>>,
    number: Lru<Box<[u8]>, Arc<TrafficCounts>>,
}

impl Default for TrafficTable {
    fn default() -> Self {
        let shelves = KeyTables { fixed: Lru::new(u64::MAX), bytes: Lru::new(0), number: Lru::new(0) };
        Self { epoch: AtomicU64::new(0), tables: Mutex::new(shelves) }
    }
}

impl TrafficTable {
    /// Returns the counts of an encoded key ([`TrafficKey::write`]). Creates them if there are none, or if a reload has
    /// changed `bounds`. Returns `None` if the limit of `shelf`, the class of the key, is too low even for this key
    /// alone. `bounds` are the upper bounds of the histograms, in milliseconds.
    pub fn find(&self, key: &[u8], shelf: KeyClass, bounds: &Arc<[u64]>) -> Option<Arc<TrafficCounts>> {
        let mut shelves = self.tables.lock();
        let (kept, weight) = match shelf {
            KeyClass::Fixed => (&mut shelves.fixed, 1),
            KeyClass::Bytes(most) => {
                shelves.bytes.set_max_weight(most);
                (&mut shelves.bytes, TrafficCounts::weight(key, bounds))
            }
            KeyClass::Number(most) => {
                shelves.number.set_max_weight(most);
                (&mut shelves.number, 1)
            }
        };
        if let Some(known) = kept.get_mut(key).filter(|known| known.request.bounds == *bounds) {
            return Some(Arc::clone(known));
        }
        let counts = Arc::new(TrafficCounts::new(TrafficKey::of(key), bounds));
        if shelf == KeyClass::Fixed {
            evict_unused(kept);
        }
        kept.insert(key.into(), Arc::clone(&counts), weight).then_some(counts)
    }

    /// Returns the counts of all keys, in no particular order.
    pub(super) fn all(&self) -> Vec<Arc<TrafficCounts>> {
        let shelves = self.tables.lock();
        let counts = [&shelves.fixed, &shelves.bytes, &shelves.number];
        counts.into_iter().flat_map(Lru::values).cloned().collect()
    }

    /// Resets keys: removes their counts or, if `keeps` is set, replaces them by counts of zero. Workers then look up
    /// their counts again.
    pub fn remove(&self, keys: &[TrafficKey], keeps: bool) {
        let mut shelves = self.tables.lock();
        let KeyTables { fixed, bytes, number } = &mut *shelves;
        for key in keys {
            // All classes are searched, because a reload may have changed the class of a key.
            for (kept, weighs) in [(&mut *fixed, false), (&mut *bytes, true), (&mut *number, false)] {
                let Some(before) = kept.remove(key.bytes()) else { continue };
                if keeps {
                    let bounds = &before.request.bounds;
                    let weight = if weighs { TrafficCounts::weight(key.bytes(), bounds) } else { 1 };
                    kept.insert(
                        key.bytes().into(),
                        Arc::new(TrafficCounts::new(key.clone(), bounds)),
                        weight,
                    );
                }
            }
        }
        drop(shelves);
        self.epoch.fetch_add(1, Relaxed);
    }

    /// Returns the number of calls of [`Self::remove`]. Evictions are not counted.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// Returns the maximum memory that all counts use, in bytes, and the number of keys.
    pub fn used(&self) -> (u64, u64) {
        let counts = self.all();
        let weight = |counts: &Arc<TrafficCounts>| {
            u64::from(TrafficCounts::weight(counts.key.bytes(), &counts.request.bounds))
        };
        (counts.iter().map(weight).sum(), counts.len() as u64)
    }
}

/// Evicts keys that no slot contains, the least recently looked up first, until there are fewer than [`MAX_FIXED`]
/// keys. Examines at most [`MAX_EXAMINED`] keys.
fn evict_unused(fixed: &mut Lru<Box<[u8]>, Arc<TrafficCounts>>) {
    for _ in 0..MAX_EXAMINED {
        if fixed.len() < MAX_FIXED {
            return;
        }
        if !fixed.remove_oldest_if(|counts| Arc::strong_count(counts) == 1) {
            fixed.renew_oldest();
        }
    }
}
