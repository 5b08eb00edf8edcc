//! Counts by key of one worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

use super::counts::TrafficCounts;
use super::key::TrafficKey;

/// Maximum number of keys that depend on configurations only. Keys left by previous configurations are evicted, oldest
/// first.
const MAX_FIXED: u64 = 16 * 1024;

/// Storage class of a key, which limits the number of keys. The least recently used are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyClass {
    /// Keys that depend on the configuration only.
    Fixed,
    /// Keys that clients can influence, limited to a total size in bytes.
    Bytes(u64),
    /// Keys that clients can influence, limited in number.
    Number(u64),
}

/// Keys counted by one worker. The worker looks up keys that are missing in its slots; other threads read and remove
/// keys.
#[derive(Debug)]
pub struct TrafficTable {
    /// Number of removals of keys. Results of earlier lookups are invalid.
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
        let shelves = KeyTables { fixed: Lru::new(MAX_FIXED), bytes: Lru::new(0), number: Lru::new(0) };
        Self { epoch: AtomicU64::new(0), tables: Mutex::new(shelves) }
    }
}

impl TrafficTable {
    /// Returns the counts of a key written by [`TrafficKey::write`], creating them if necessary; `None` if the limit of
    /// the shelf does not even admit one key. `bounds` are those of histograms.
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
        kept.insert(key.into(), Arc::clone(&counts), weight).then_some(counts)
    }

    /// Returns the counts of all keys, in no order.
    pub(super) fn all(&self) -> Vec<Arc<TrafficCounts>> {
        let shelves = self.tables.lock();
        let counts = [&shelves.fixed, &shelves.bytes, &shelves.number];
        counts.into_iter().flat_map(Lru::values).cloned().collect()
    }

    /// Removes keys, whose counts then start at zero. If `keeps` is set, the keys remain.
    pub fn remove(&self, keys: &[TrafficKey], keeps: bool) {
        let mut shelves = self.tables.lock();
        let KeyTables { fixed, bytes, number } = &mut *shelves;
        for key in keys {
            // Each shelf is searched, because a reload may have changed the shelf of a key.
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

    /// Returns the number of removals of keys.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// Returns the memory size of the keys, in bytes, and their number.
    pub fn used(&self) -> (u64, u64) {
        let counts = self.all();
        let weight = |counts: &Arc<TrafficCounts>| {
            u64::from(TrafficCounts::weight(counts.key.bytes(), &counts.request.bounds))
        };
        (counts.iter().map(weight).sum(), counts.len() as u64)
    }
}
