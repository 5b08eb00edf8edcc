//! Eviction queue: S3-FIFO (Yang et al., SOSP 2023) over a paged slab, with weights.
//!
//! ```text
//!   insert --> new values --hit--> main --> hit since the last check? retained for one more round
//!      |           |                 '----> else: evicted
//!      |           '--not hit--> evicted, and remembered as a ghost
//!      '--- remembered as a ghost: to main at once
//! ```
//!
//! A hit counts up to three and moves nothing. Values brought in by a scan are evicted first, and displace no value
//! that was hit. A value that was evicted too early is recognized when it is inserted again. A value that is much
//! heavier than others occupies the room of several, so it needs more hits to remain.
//!
//! The shares were selected by hit rates on eight traces, `bench/eviction`.

use crate::index::ghost::GhostTable;

/// Number of slots in the first page; each further page has twice as many as its predecessor.
///
/// Pages are never moved, so a growing queue copies no values while its shard is locked. Their number is small, so that
/// the list of them remains in the processor's cache.
const FIRST_PAGE: usize = 32;
/// Divisor of the number of values: the share of new values while the main queue is not empty.
const NEW_SHARE_DIVISOR: usize = 20;
/// Maximum number of counted hits.
const MAX_USES: u8 = 3;
/// Number of values in the mean weight, as a power of two.
const MEAN_OVER: u32 = 6;

const NIL: u32 = u32::MAX;

#[derive(Debug)]
struct EvictionSlot<T> {
    /// Next slot towards the head (newer).
    newer: u32,
    /// Next slot towards the tail (older); for a vacant slot, the next vacant slot.
    older: u32,
    /// Number of hits since the insertion or the last check, at most [`MAX_USES`].
    uses: u8,
    lane: Lane,
    value: Option<T>,
}

/// Queue of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Values without a hit.
    New,
    /// Values that were hit, or inserted again.
    Main,
}

/// Queue and hit count of a value. With the order of the values, a restart restores the queues from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionPosition {
    /// Queue of the value.
    pub lane: Lane,
    /// Number of counted hits.
    pub uses: u8,
}

/// Linked list through slots. Values are inserted at the head and checked at the tail.
#[derive(Clone, Copy, Debug)]
struct SlotList {
    head: u32,
    tail: u32,
    len: usize,
}

impl SlotList {
    const EMPTY: Self = Self { head: NIL, tail: NIL, len: 0 };
}

/// Returns the page of an index, and the position in it.
#[inline]
fn locate(index: u32) -> (usize, usize) {
    let above = index as usize + FIRST_PAGE;
    let page = above.ilog2() - FIRST_PAGE.ilog2();
    (page as usize, above - (FIRST_PAGE << page))
}

/// Values in the order of their eviction, each at a fixed index.
#[derive(Debug)]
pub struct S3Fifo<T> {
    pages: Vec<Vec<EvictionSlot<T>>>,
    vacant: u32,
    lists: [SlotList; 2],
    ghost: GhostTable,
    /// Mean weight of the values that reached a tail recently, times 2 to the power of [`MEAN_OVER`].
    mean: u64,
}

impl<T> Default for S3Fifo<T> {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            vacant: NIL,
            lists: [SlotList::EMPTY; 2],
            ghost: GhostTable::default(),
            mean: 0,
        }
    }
}

impl<T> S3Fifo<T> {
    /// Number of bytes per value, including its size.
    pub const SLOT_BYTES: usize = size_of::<EvictionSlot<T>>() + GhostTable::BYTES * 7 / 10;

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.lists[0].len + self.lists[1].len
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the highest index ever used plus one.
    pub fn slots(&self) -> u32 {
        let before = |pages: usize| (FIRST_PAGE << (pages - 1)) - FIRST_PAGE;
        self.pages.last().map_or(0, |last| before(self.pages.len()) + last.len()) as u32
    }

    fn slot(&self, index: u32) -> &EvictionSlot<T> {
        let (page, at) = locate(index);
        &self.pages[page][at]
    }

    fn slot_mut(&mut self, index: u32) -> &mut EvictionSlot<T> {
        let (page, at) = locate(index);
        &mut self.pages[page][at]
    }

    /// Returns the value at an index; `None` for a vacant or unused index.
    pub fn at(&self, index: u32) -> Option<&T> {
        let (page, at) = locate(index);
        self.pages.get(page)?.get(at)?.value.as_ref()
    }

    /// Like [`Self::at`], for changes.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        let (page, at) = locate(index);
        self.pages.get_mut(page)?.get_mut(at)?.value.as_mut()
    }

    /// Returns the value at an index after counting `times` hits on it.
    pub fn hit(&mut self, index: u32, times: u8) -> Option<&mut T> {
        let slot = self.slot_mut(index);
        slot.uses = slot.uses.saturating_add(times).min(MAX_USES);
        slot.value.as_mut()
    }

    /// Returns the current number of evicted values to remember.
    fn ghost_capacity(&self) -> usize {
        self.len() * 7 / 10
    }

    /// Inserts a value. `hash` identifies it among the remembered values.
    pub fn insert(&mut self, value: T, hash: u64) -> u32 {
        let most = self.ghost_capacity();
        let lane = if self.ghost.recall(hash, most) { Lane::Main } else { Lane::New };
        self.insert_as(value, EvictionPosition { lane, uses: 0 })
    }

    /// Inserts a value at its former position.
    pub fn insert_as(&mut self, value: T, EvictionPosition { lane, uses }: EvictionPosition) -> u32 {
        let slot =
            EvictionSlot { newer: NIL, older: NIL, uses: uses.min(MAX_USES), lane, value: Some(value) };
        let index = if self.vacant == NIL {
            let index = self.slots();
            match self.pages.last_mut() {
                Some(page) if page.len() < page.capacity() => page.push(slot),
                _ => {
                    let mut page = Vec::with_capacity(FIRST_PAGE << self.pages.len());
                    page.push(slot);
                    self.pages.push(page);
                }
            }
            index
        } else {
            let index = self.vacant;
            self.vacant = std::mem::replace(self.slot_mut(index), slot).older;
            index
        };
        self.link(index, lane);
        index
    }

    /// Inserts a slot at the head of a queue.
    fn link(&mut self, index: u32, lane: Lane) {
        let list = &mut self.lists[lane as usize];
        let older = std::mem::replace(&mut list.head, index);
        list.len += 1;
        if older == NIL {
            list.tail = index;
        } else {
            self.slot_mut(older).newer = index;
        }
        let slot = self.slot_mut(index);
        (slot.newer, slot.older, slot.lane) = (NIL, older, lane);
    }

    /// Removes a slot from its queue.
    fn unlink(&mut self, index: u32) {
        let EvictionSlot { newer, older, lane, .. } = *self.slot(index);
        match newer {
            NIL => self.lists[lane as usize].head = older,
            newer => self.slot_mut(newer).older = older,
        }
        match older {
            NIL => self.lists[lane as usize].tail = newer,
            older => self.slot_mut(older).newer = newer,
        }
        self.lists[lane as usize].len -= 1;
    }

    /// Removes the value at an index that was used; `None` for a vacant index.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.slot_mut(index).value.take()?;
        self.unlink(index);
        self.slot_mut(index).older = self.vacant;
        self.vacant = index;
        Some(value)
    }

    /// Remembers a new value that is about to be evicted: if it is inserted again soon, it goes to the main queue.
    pub fn remember(&mut self, index: u32, hash: u64) {
        if self.slot(index).lane == Lane::New {
            let most = self.ghost_capacity();
            self.ghost.remember(hash, most);
        }
    }

    /// Returns the values, new values first and each queue from the oldest on.
    pub fn in_order(&self) -> impl Iterator<Item = (&T, EvictionPosition)> {
        let walk = |lane: Lane| {
            let mut next = self.lists[lane as usize].tail;
            std::iter::from_fn(move || {
                let slot = (next != NIL).then(|| self.slot(next))?;
                next = slot.newer;
                Some((slot.value.as_ref()?, EvictionPosition { lane, uses: slot.uses }))
            })
        };
        walk(Lane::New).chain(walk(Lane::Main))
    }

    /// Sorts the values by a key, with the least as the oldest. All become new values.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        let mut order: Vec<(K, u32)> =
            (0..self.slots()).filter_map(|index| Some((key(self.at(index)?), index))).collect();
        order.sort_unstable();
        self.lists = [SlotList::EMPTY; 2];
        for (_, index) in order {
            self.link(index, Lane::New);
        }
    }

    /// Returns the next value to evict. `unseen` takes the hits that a value has counted itself.
    ///
    /// The loop terminates because every step decrements a count of hits or moves a new value to the main queue.
    pub fn victim(&mut self, weight: impl Fn(&T) -> u64, unseen: impl Fn(&T) -> u8) -> Option<u32> {
        loop {
            let [newcomers, main] = self.lists;
            let lane = if newcomers.len * NEW_SHARE_DIVISOR > self.len() || main.len == 0 {
                Lane::New
            } else {
                Lane::Main
            };
            let index = self.lists[lane as usize].tail;
            if index == NIL {
                return None;
            }
            let cost = 1 + u8::from(self.is_heavy(index, &weight));
            let times = self.at(index).map_or(0, &unseen);
            self.hit(index, times);
            let slot = self.slot_mut(index);
            match lane {
                Lane::New if slot.uses < cost => return Some(index),
                Lane::Main if slot.uses == 0 => return Some(index),
                Lane::New => slot.uses = 0,
                Lane::Main => slot.uses = slot.uses.saturating_sub(cost),
            }
            self.unlink(index);
            self.link(index, Lane::Main);
        }
    }

    /// Returns whether a value is heavier than one and a half times the mean, and adds it to the mean.
    fn is_heavy(&mut self, index: u32, weight: &impl Fn(&T) -> u64) -> bool {
        let weight = self.at(index).map_or(0, weight);
        if self.mean == 0 {
            self.mean = weight << MEAN_OVER;
        }
        let mean = self.mean >> MEAN_OVER;
        self.mean = self.mean - mean + weight;
        weight > mean + mean / 2
    }
}

#[cfg(test)]
mod tests;
