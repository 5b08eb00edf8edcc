//! The eviction queue: S3-FIFO (Yang et al., SOSP 2023) over a paged slab, aware of weights.
//!
//! ```text
//!   insert --> newcomers --hit--> main --> hit since it last came by? once more round
//!      |           |                '----> else: evicted
//!      |           '--not hit--> evicted, and remembered as a ghost
//!      '--- remembered as a ghost: to main at once
//! ```
//!
//! A hit counts up to three and moves nothing. Values that a scan brings in leave first, and displace none that was hit. A value
//! that left too early is recognised when it comes back. A value that weighs much more than others holds the
//! room of several, so it must be hit more often to stay.
//!
//! The shares were chosen by hit rates on eight traces, `bench/eviction`.

use crate::ghost::Ghost;

/// Slots of the first page; each further one has twice as many as the one before. Pages are never moved, so a growing queue copies
/// no values while its shard is locked. They are few, so that the list of them stays in the processor's cache.
const FIRST_PAGE: usize = 32;
/// The part of all values that may be newcomers while there are others: one in so many.
const NEWCOMERS: usize = 20;
/// Hits that are counted.
const MOST_USES: u8 = 3;
/// How many values the mean weight is taken over, as a power of two.
const MEAN_OVER: u32 = 6;

const NIL: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T> {
    /// Towards the head (newer).
    newer: u32,
    /// Towards the tail (older); for a vacant slot, the next vacant one.
    older: u32,
    /// Hits since it came in, or last came by; no more than [`MOST_USES`].
    uses: u8,
    lane: Lane,
    value: Option<T>,
}

/// Which of the two queues a value is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Values that have yet to be hit.
    Newcomers,
    /// Values that were hit, or came back.
    Main,
}

/// How a value stands in the queue: what a restart should find again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its queue.
    pub lane: Lane,
    /// Hits that are counted.
    pub uses: u8,
}

/// A list through slots. Values enter at the head and are looked at when they have come to the tail.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    len: usize,
}

impl List {
    const EMPTY: Self = Self { head: NIL, tail: NIL, len: 0 };
}

/// The page of an index, and the place in it.
#[inline]
fn place(index: u32) -> (usize, usize) {
    let above = index as usize + FIRST_PAGE;
    let page = above.ilog2() - FIRST_PAGE.ilog2();
    (page as usize, above - (FIRST_PAGE << page))
}

/// Values in the order in which they should leave, each at an index of its own for as long as it stays.
#[derive(Debug)]
pub struct S3Fifo<T> {
    pages: Vec<Vec<Slot<T>>>,
    vacant: u32,
    lists: [List; 2],
    ghost: Ghost,
    /// Mean weight of the values that came to a tail lately, times 2 to the power of [`MEAN_OVER`].
    mean: u64,
}

impl<T> Default for S3Fifo<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), vacant: NIL, lists: [List::EMPTY; 2], ghost: Ghost::default(), mean: 0 }
    }
}

impl<T> S3Fifo<T> {
    /// Bytes that one value takes here, its own size included.
    pub const SLOT_BYTES: usize = size_of::<Slot<T>>() + Ghost::BYTES * 7 / 10;

    /// Values in it.
    pub fn len(&self) -> usize {
        self.lists[0].len + self.lists[1].len
    }

    /// Whether there are no values in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest index ever used.
    pub fn slots(&self) -> u32 {
        let before = |pages: usize| (FIRST_PAGE << (pages - 1)) - FIRST_PAGE;
        self.pages.last().map_or(0, |last| before(self.pages.len()) + last.len()) as u32
    }

    fn slot(&self, index: u32) -> &Slot<T> {
        let (page, at) = place(index);
        &self.pages[page][at]
    }

    fn slot_mut(&mut self, index: u32) -> &mut Slot<T> {
        let (page, at) = place(index);
        &mut self.pages[page][at]
    }

    /// The value at an index, `None` for a vacant or unused one.
    pub fn at(&self, index: u32) -> Option<&T> {
        let (page, at) = place(index);
        self.pages.get(page)?.get(at)?.value.as_ref()
    }

    /// As [`Self::at`], to change it.
    pub fn at_mut(&mut self, index: u32) -> Option<&mut T> {
        let (page, at) = place(index);
        self.pages.get_mut(page)?.get_mut(at)?.value.as_mut()
    }

    /// The value at an index, counted as hit so often.
    pub fn hit(&mut self, index: u32, times: u8) -> Option<&mut T> {
        let slot = self.slot_mut(index);
        slot.uses = slot.uses.saturating_add(times).min(MOST_USES);
        slot.value.as_mut()
    }

    /// Evicted values that are remembered at this moment.
    fn remembered(&self) -> usize {
        self.len() * 7 / 10
    }

    /// Enters a value; `hash` is what it is remembered by when it leaves.
    pub fn insert(&mut self, value: T, hash: u64) -> u32 {
        let most = self.remembered();
        let lane = if self.ghost.recall(hash, most) { Lane::Main } else { Lane::Newcomers };
        self.insert_as(value, Standing { lane, uses: 0 })
    }

    /// Enters a value as it stood before.
    pub fn insert_as(&mut self, value: T, Standing { lane, uses }: Standing) -> u32 {
        let slot = Slot { newer: NIL, older: NIL, uses: uses.min(MOST_USES), lane, value: Some(value) };
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

    /// Puts a slot at the head of a queue.
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

    /// Takes a slot out of its queue.
    fn unlink(&mut self, index: u32) {
        let Slot { newer, older, lane, .. } = *self.slot(index);
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

    /// Takes out the value at an index that was used; `None` for a vacant one.
    pub fn remove(&mut self, index: u32) -> Option<T> {
        let value = self.slot_mut(index).value.take()?;
        self.unlink(index);
        self.slot_mut(index).older = self.vacant;
        self.vacant = index;
        Some(value)
    }

    /// Remembers a newcomer that is about to be removed to make room: if it comes back soon, it is no newcomer any more.
    pub fn remember(&mut self, index: u32, hash: u64) {
        if self.slot(index).lane == Lane::Newcomers {
            let most = self.remembered();
            self.ghost.remember(hash, most);
        }
    }

    /// The values, newcomers before others and each queue from the oldest on.
    pub fn in_order(&self) -> impl Iterator<Item = (&T, Standing)> {
        let walk = |lane: Lane| {
            let mut next = self.lists[lane as usize].tail;
            std::iter::from_fn(move || {
                let slot = (next != NIL).then(|| self.slot(next))?;
                next = slot.newer;
                Some((slot.value.as_ref()?, Standing { lane, uses: slot.uses }))
            })
        };
        walk(Lane::Newcomers).chain(walk(Lane::Main))
    }

    /// Puts the values in the order of a key, the least becoming the oldest. All are newcomers then.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        let mut order: Vec<(K, u32)> =
            (0..self.slots()).filter_map(|index| Some((key(self.at(index)?), index))).collect();
        order.sort_unstable();
        self.lists = [List::EMPTY; 2];
        for (_, index) in order {
            self.link(index, Lane::Newcomers);
        }
    }

    /// The value that should leave next. `unseen` takes the hits that a value has counted by itself. It ends because every step
    /// counts a hit down or a newcomer in.
    pub fn victim(&mut self, weight: impl Fn(&T) -> u64, unseen: impl Fn(&T) -> u8) -> Option<u32> {
        loop {
            let [newcomers, main] = self.lists;
            let lane = if newcomers.len * NEWCOMERS > self.len() || main.len == 0 {
                Lane::Newcomers
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
                Lane::Newcomers if slot.uses < cost => return Some(index),
                Lane::Main if slot.uses == 0 => return Some(index),
                Lane::Newcomers => slot.uses = 0,
                Lane::Main => slot.uses = slot.uses.saturating_sub(cost),
            }
            self.unlink(index);
            self.link(index, Lane::Main);
        }
    }

    /// Whether a value weighs half as much again as the mean, of which it becomes a part.
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
