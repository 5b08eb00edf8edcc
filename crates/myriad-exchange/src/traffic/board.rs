//! All keys of one worker.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_bounded::Lru;
use parking_lot::Mutex;

use super::counts::TrafficCounts;
use super::key::TrafficKey;

/// Most keys that follow from configurations alone: what former ones have left goes then, the oldest first.
const MOST_FIXED: u64 = 16 * 1024;

/// Where a key is kept, which says how many there may be: what was used longest ago goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// It follows from the configuration alone.
    Fixed,
    /// Visitors may have a say in it; all of these take at most so many bytes.
    Bytes(u64),
    /// Visitors may have a say in it; there are at most so many of these.
    Number(u64),
}

/// The keys that one worker counts. The worker looks up what it has not in its slots; others read, and take out.
#[derive(Debug)]
pub struct Board {
    /// How often keys were taken out: what a worker has found before no longer counts.
    epoch: AtomicU64,
    shelves: Mutex<Shelves>,
}

#[derive(Debug)]
struct Shelves {
    fixed: Lru<Box<[u8]>, Arc<TrafficCounts>>,
    bytes: Lru<Box<[u8]>, Arc<TrafficCounts>>,
    number: Lru<Box<[u8]>, Arc<TrafficCounts>>,
}

impl Default for Board {
    fn default() -> Self {
        let shelves = Shelves { fixed: Lru::new(MOST_FIXED), bytes: Lru::new(0), number: Lru::new(0) };
        Self { epoch: AtomicU64::new(0), shelves: Mutex::new(shelves) }
    }
}

impl Board {
    /// The counts of a key that was written by [`TrafficKey::write`], made where there are none; none where the shelf has no
    /// room for a single one. `bounds` are those of histograms.
    pub fn find(&self, key: &[u8], shelf: Shelf, bounds: &Arc<[u64]>) -> Option<Arc<TrafficCounts>> {
        let mut shelves = self.shelves.lock();
        let (kept, weight) = match shelf {
            Shelf::Fixed => (&mut shelves.fixed, 1),
            Shelf::Bytes(most) => {
                shelves.bytes.set_most(most);
                (&mut shelves.bytes, TrafficCounts::weight(key, bounds))
            }
            Shelf::Number(most) => {
                shelves.number.set_most(most);
                (&mut shelves.number, 1)
            }
        };
        if let Some(known) = kept.get_mut(key).filter(|known| known.request.bounds == *bounds) {
            return Some(Arc::clone(known));
        }
        let counts = Arc::new(TrafficCounts::new(TrafficKey::of(key), bounds));
        kept.insert(key.into(), Arc::clone(&counts), weight).then_some(counts)
    }

    /// The counts of all keys, in no order.
    pub(super) fn all(&self) -> Vec<Arc<TrafficCounts>> {
        let shelves = self.shelves.lock();
        let kept = [&shelves.fixed, &shelves.bytes, &shelves.number];
        kept.into_iter().flat_map(Lru::values).cloned().collect()
    }

    /// Takes keys out: what is counted of them from now on begins at nothing. Those that it `keeps` are there all the same.
    pub fn forget(&self, keys: &[TrafficKey], keeps: bool) {
        let mut shelves = self.shelves.lock();
        let Shelves { fixed, bytes, number } = &mut *shelves;
        for key in keys {
            // Each is looked for on its own: a key may have changed its shelf at a reload.
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

    /// How often keys were taken out.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Relaxed)
    }

    /// Bytes that the keys take in memory, and how many there are.
    pub fn used(&self) -> (u64, u64) {
        let counts = self.all();
        let weight = |counts: &Arc<TrafficCounts>| {
            u64::from(TrafficCounts::weight(counts.key.bytes(), &counts.request.bounds))
        };
        (counts.iter().map(weight).sum(), counts.len() as u64)
    }
}
