//! Eviction queue: S3-FIFO (Yang et al., SOSP 2023) over a paged slab, with weights.
//!
//! ```text
//!   insert --> new values --hit--> main --> hit since the last check? retained for one more round
//!      |           |                 '----> else: evicted
//!      |           '--not hit--> evicted, and remembered as a ghost
//!      '--- remembered as a ghost: to main at once
//! ```
//!
//! A hit increments a counter (up to three) and moves nothing. Values that are used only once are evicted first, and
//! displace no value with hits. A value that was evicted too early is recognised when it is inserted again. A value
//! that is much heavier than the mean needs more hits to remain.
//!
//! The proportions were chosen by hit rates on eight traces; see `bench/eviction`.

use crate::index::ghost::GhostTable;

/// Number of slots in the first page of the slab. Each further page has twice as many slots as the page before.
///
/// Pages are never moved, so a growing queue copies no values while its shard is locked. There are few pages, so the
/// list of pages stays in the processor's cache.
const FIRST_PAGE: usize = 32;
/// Divisor for the target size of the queue of new values: one twentieth of all values, unless the main queue is empty.
const NEW_SHARE_DIVISOR: usize = 20;
/// Maximum number of hits that are counted per value.
const MAX_USES: u8 = 3;
/// Binary logarithm of the number of values over which the mean weight is taken.
const MEAN_OVER: u32 = 6;

const NIL: u32 = u32::MAX;

#[derive(Debug)]
struct EvictionSlot<T> {
    /// Index of the next slot of the same queue towards the head (newer).
    newer: u32,
    /// Index of the next slot of the same queue towards the tail (older); for a vacant slot, of the next vacant slot.
    older: u32,
    /// Number of hits on the value, at most [`MAX_USES`]. Checks for eviction reduce it.
    uses: u8,
    lane: Lane,
    value: Option<T>,
}

/// Queue that contains a value: S3-FIFO has one for new values and a main queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Values that have not entered the main queue since they were inserted or sorted.
    New,
    /// Values that had hits when they were checked while new, or were inserted again soon after their eviction.
    Main,
}

/// Queue and hit count of a value. Snapshots store them, so that a restart restores the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvictionPosition {
    /// Queue that contains the value.
    pub lane: Lane,
    /// Number of hits on the value, at most three. Checks for eviction reduce it.
    pub uses: u8,
}

/// Linked list of slots, for one queue. Values are inserted at the head and checked for eviction at the tail.
#[derive(Clone, Copy, Debug)]
struct SlotList {
    head: u32,
    tail: u32,
    len: usize,
}

impl SlotList {
    const EMPTY: Self = Self { head: NIL, tail: NIL, len: 0 };
}

/// Returns the page of the slab that contains a slot index, and the position in that page.
#[inline]
fn locate(index: u32) -> (usize, usize) {
    let above = index as usize + FIRST_PAGE;
    let page = above.ilog2() - FIRST_PAGE.ilog2();
    (page as usize, above - (FIRST_PAGE << page))
}

/// Values in the order of eviction (algorithm S3-FIFO). Each value has a fixed index until it is removed.
#[derive(Debug)]
pub struct S3Fifo<T> {
    pages: Vec<Vec<EvictionSlot<T>>>,
    vacant: u32,
    lists: [SlotList; 2],
    ghost: GhostTable,
    /// Moving mean of the weights of values checked for eviction, times 2 to the power of [`MEAN_OVER`].
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
    /// Number of bytes per value: its slot, and its share of the table of recently evicted values.
    pub const SLOT_BYTES: usize = size_of::<EvictionSlot<T>>() + GhostTable::BYTES * 7 / 10;

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.lists[0].len + self.lists[1].len
    }

    /// Returns true if the queue contains no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns one more than the highest slot index used so far.
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

    /// Returns the value at an index for modification; `None` for a vacant or unused index.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        let (page, at) = locate(index);
        self.pages.get_mut(page)?.get_mut(at)?.value.as_mut()
    }

    /// Counts `times` hits on the value at an index that has been used, and returns the value; `None` if it is vacant.
    pub fn hit(&mut self, index: u32, times: u8) -> Option<&mut T> {
        let slot = self.slot_mut(index);
        slot.uses = slot.uses.saturating_add(times).min(MAX_USES);
        slot.value.as_mut()
    }

    /// Returns the number of evicted values that are to be remembered at the current number of values.
    fn ghost_capacity(&self) -> usize {
        self.len() * 7 / 10
    }

    /// Inserts a value and returns its index. `hash` identifies the value in the table of recently evicted values.
    pub fn insert(&mut self, value: T, hash: u64) -> u32 {
        let most = self.ghost_capacity();
        let lane = if self.ghost.recall(hash, most) { Lane::Main } else { Lane::New };
        self.insert_as(value, EvictionPosition { lane, uses: 0 })
    }

    /// Inserts a value as the newest of the queue in which it was before, with its former hit count. Returns its index.
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

    /// Adds a slot at the head (newest end) of a queue.
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

    /// Removes and returns the value at an index that has been used; `None` if it is vacant.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.slot_mut(index).value.take()?;
        self.unlink(index);
        self.slot_mut(index).older = self.vacant;
        self.vacant = index;
        Some(value)
    }

    /// Records a value that is about to be evicted in the table of recently evicted values, unless it is in the main
    /// queue. If it is inserted again soon, it enters the main queue.
    pub fn remember(&mut self, index: u32, hash: u64) {
        if self.slot(index).lane == Lane::New {
            let most = self.ghost_capacity();
            self.ghost.remember(hash, most);
        }
    }

    /// Returns the values with their positions: the queue of new values, then the main queue, each oldest first.
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

    /// Sorts all values by a key, lowest first to evict, and moves them to the queue of new values.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        let mut order: Vec<(K, u32)> =
            (0..self.slots()).filter_map(|index| Some((key(self.at(index)?), index))).collect();
        order.sort_unstable();
        self.lists = [SlotList::EMPTY; 2];
        for (_, index) in order {
            self.link(index, Lane::New);
        }
    }

    /// Returns the index of the next value to evict, which remains in the queue; `None` if the queue is empty. Older
    /// values that had enough hits move to the head of the main queue: a new one with its hit count reset, another with
    /// a lower hit count. `weight` returns the weight of a value; `unseen` returns and resets the hits that a value has
    /// counted itself.
    ///
    /// The loop terminates because each step decreases a hit count or moves a new value to the main queue.
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

    /// Returns true if the weight of a value is above one and a half times the mean weight, and updates the mean.
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
